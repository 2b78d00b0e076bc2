// SPDX-License-Identifier: Apache-2.0
#include "mlu/settings.h"

#include <algorithm>
#include <cstdlib>

namespace bang {
namespace {

// The size of NRAM and SRAM without the part that the compiler keeps.
constexpr size_t Usable(size_t kilobytes) { return (kilobytes - 128) * 1024; }

constexpr Card kCards[] = {
    {"mlu290", 290, Usable(512), Usable(2048), 512 * 1024},
    {"mlu370", 372, Usable(768), Usable(4096), 1024 * 1024},
    {"mlu590", 592, Usable(512), Usable(2048), 512 * 1024},
};

Settings Read() {
  Settings settings = {kCards[1]};
  // Calls set(value) if the variable is set; false: the value breaks the rule.
  const auto read = [&](const std::string& name, const std::string& rule, const auto& set) {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0' || set(std::string(value))) return;
    settings.error = name + " must be " + rule + ", got " + std::string(value).substr(0, 40);
  };
  read("MLUOP_MLU_ARCH", "mlu290, mlu370 or mlu590", [&](const std::string& value) {
    const auto* const found = std::ranges::find(kCards, value, &Card::architecture);
    if (found != std::end(kCards)) settings.card = *found;
    return found != std::end(kCards);
  });
  read("MLUOP_MLU_CLUSTERS", "a number from 1 to 16", [&](const std::string& value) {
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    settings.card.cluster_limit = static_cast<int>(std::clamp(number, 1L, long{kMaxClusters}));
    return *end == '\0' && number == settings.card.cluster_limit;
  });
  read("MLUOP_MLU_SEED", "a number of at most 19 digits", [&](const std::string& value) {
    settings.seed = std::strtoull(value.c_str(), nullptr, 10);
    return value.size() < 20 && value.find_first_not_of("0123456789") == std::string::npos;
  });
  const auto read_switch = [&](const char* name, const std::string& off, const std::string& on,
                               bool* is_on) {
    read(name, off + " or " + on, [&](const std::string& value) {
      *is_on = value == on;
      return value == on || value == off;
    });
  };
  read_switch("MLUOP_MLU_CHECK", "normal", "strict", &settings.strict);
  read_switch("MLUOP_MLU_IN_PLACE", "0", "1", &settings.choices.allows_in_place);
  read_switch("MLUOP_MLU_FUSION", "rounded", "exact", &settings.choices.keeps_middle_result);
  return settings;
}

}  // namespace

const Choices& GetChoices() { return GetSettings().choices; }

const Settings& GetSettings() {
  static const Settings settings = Read();
  return settings;
}

}  // namespace bang
