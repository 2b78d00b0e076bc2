// SPDX-License-Identifier: Apache-2.0
// The simulated card, chosen by environment variables that are read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bang {

inline constexpr int kCoresPerCluster = 4;
inline constexpr int kMaxClusters = 16;

struct Card {
  const char* name;                           // "mlu370"
  int number;                                 // __BANG_ARCH__
  size_t nram_bytes, wram_bytes, sram_bytes;  // usable
};

struct Settings {
  const Card* card;        // MLUOP_MLU_ARCH: mlu290, mlu370 (default), mlu590
  int clusters = 8;        // MLUOP_MLU_CLUSTERS: 1 to 16
  bool strict = false;     // MLUOP_MLU_CHECK=strict
  uint64_t seed = 1;       // MLUOP_MLU_SEED: the order of tasks and copies
  std::string error = {};  // why a variable is wrong; "" if all are right
};
const Settings& GetSettings();

}  // namespace bang
