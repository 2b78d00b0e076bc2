// SPDX-License-Identifier: Apache-2.0
// The simulated card, chosen by environment variables that are read once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bang {

inline constexpr int kCoresPerCluster = 4;
inline constexpr int kMaxClusters = 16;
inline constexpr size_t kStackReserve = 128 * 1024;  // of NRAM and SRAM, kept by the compiler

struct Card {
  const char* name;                           // "mlu370"
  int number;                                 // __BANG_ARCH__
  size_t nram_bytes, wram_bytes, sram_bytes;  // usable
};

struct Settings {
  const Card* architecture;  // MLUOP_MLU_ARCH: mlu290, mlu370 (default), mlu590
  int clusters;              // MLUOP_MLU_CLUSTERS: 1 to 16, default 8
  bool strict;               // MLUOP_MLU_CHECK=strict
  uint64_t seed;             // MLUOP_MLU_SEED: the order of tasks and copies
  char fault[160];           // why a variable is wrong; "" if all are right
};
const Settings& GetSettings();

}  // namespace bang
