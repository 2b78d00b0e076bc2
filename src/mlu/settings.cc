// SPDX-License-Identifier: Apache-2.0
#include "mlu/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bang {
namespace {

constexpr Card kArchitectures[] = {
    // name, __BANG_ARCH__, NRAM, WRAM, SRAM
    {"mlu290", 290, 512 * 1024 - kStackReserve, 512 * 1024, 2048 * 1024 - kStackReserve},
    {"mlu370", 372, 768 * 1024 - kStackReserve, 1024 * 1024, 4096 * 1024 - kStackReserve},
    {"mlu590", 592, 512 * 1024 - kStackReserve, 512 * 1024, 2048 * 1024 - kStackReserve},
};

const char* Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || text[0] == '\0' ? nullptr : text;
}

Settings Read() {
  Settings settings = {&kArchitectures[1], 8, false, 1, ""};
  const auto fail = [&](const char* name, const char* rule, const char* value) {
    snprintf(settings.fault, sizeof(settings.fault), "%s must be %s, got %.40s", name, rule, value);
  };
  if (const char* const text = Variable("MLUOP_MLU_ARCH")) {
    settings.architecture = nullptr;
    for (const Card& known : kArchitectures) {
      if (std::strcmp(text, known.name) == 0) settings.architecture = &known;
    }
    if (settings.architecture == nullptr) {
      settings.architecture = &kArchitectures[1];
      fail("MLUOP_MLU_ARCH", "mlu290, mlu370 or mlu590", text);
    }
  }
  if (const char* const text = Variable("MLUOP_MLU_CLUSTERS")) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    settings.clusters = static_cast<int>(value);
    if (*end != '\0' || value < 1 || value > kMaxClusters) {
      settings.clusters = 8;
      fail("MLUOP_MLU_CLUSTERS", "a number from 1 to 16", text);
    }
  }
  if (const char* const text = Variable("MLUOP_MLU_CHECK")) {
    settings.strict = std::strcmp(text, "strict") == 0;
    if (!settings.strict && std::strcmp(text, "normal") != 0)
      fail("MLUOP_MLU_CHECK", "normal or strict", text);
  }
  if (const char* const text = Variable("MLUOP_MLU_SEED"))
    settings.seed = std::strtoull(text, nullptr, 10);
  return settings;
}

}  // namespace

const Settings& GetSettings() {
  static const Settings settings = Read();
  return settings;
}

}  // namespace bang
