// SPDX-License-Identifier: Apache-2.0
#include "mlu/settings.h"

#include <cstdlib>
#include <string_view>

namespace bang {
namespace {

// The size of NRAM and SRAM without the part that the compiler keeps.
constexpr size_t Usable(size_t kilobytes) { return (kilobytes - 128) * 1024; }

constexpr Card kCards[] = {
    {"mlu290", 290, Usable(512), 512 * 1024, Usable(2048)},
    {"mlu370", 372, Usable(768), 1024 * 1024, Usable(4096)},
    {"mlu590", 592, Usable(512), 512 * 1024, Usable(2048)},
};

std::string_view Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

Settings Read() {
  Settings settings = {&kCards[1]};
  const auto expect = [&](bool holds, const char* name, const char* rule) {
    if (holds) return;
    settings.error = std::string(name) + " must be " + rule + ", got " +
                     std::string(Variable(name).substr(0, 40));
  };
  if (const std::string_view name = Variable("MLUOP_MLU_ARCH"); !name.empty()) {
    bool known = false;
    for (const Card& card : kCards) {
      if (name != card.name) continue;
      settings.card = &card;
      known = true;
    }
    expect(known, "MLUOP_MLU_ARCH", "mlu290, mlu370 or mlu590");
  }
  if (const std::string_view text = Variable("MLUOP_MLU_CLUSTERS"); !text.empty()) {
    char* end = nullptr;
    const long value = std::strtol(text.data(), &end, 10);
    const bool valid = *end == '\0' && value >= 1 && value <= kMaxClusters;
    if (valid) settings.clusters = static_cast<int>(value);
    expect(valid, "MLUOP_MLU_CLUSTERS", "a number from 1 to 16");
  }
  if (const std::string_view mode = Variable("MLUOP_MLU_CHECK"); !mode.empty()) {
    settings.strict = mode == "strict";
    expect(settings.strict || mode == "normal", "MLUOP_MLU_CHECK", "normal or strict");
  }
  if (const std::string_view text = Variable("MLUOP_MLU_SEED"); !text.empty())
    settings.seed = std::strtoull(text.data(), nullptr, 10);
  return settings;
}

}  // namespace

const Settings& GetSettings() {
  static const Settings settings = Read();
  return settings;
}

}  // namespace bang
