// SPDX-License-Identifier: Apache-2.0
// The simulated card, chosen by environment variables that are read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bang/instruction.h"

namespace bang {

inline constexpr int kCoresPerCluster = 4;
inline constexpr int kMaxClusters = 16;

// The properties that a launch policy reads, under the names of MLU-OPS's getters.
struct Card {
  const char* architecture;                  // "mlu370"
  int bang_arch;                             // __BANG_ARCH__: 372
  size_t nram_bytes;                         // getNramSizeInBytes: without the compiler's part
  size_t sram_bytes;                         // getSramSizeInBytes: without the compiler's part
  size_t wram_bytes;                         // getWramSizeInBytes
  int cluster_limit = 8;                     // getClusterLimitCapability: 1 to 16
  int cores_per_cluster = kCoresPerCluster;  // getCoreNumOfEachUnionCapability
};

struct Settings {
  Card card;            // MLUOP_MLU_ARCH: mlu290, mlu370 (default), mlu590; MLUOP_MLU_CLUSTERS
  bool strict = false;  // MLUOP_MLU_CHECK=strict
  uint64_t seed = 1;    // MLUOP_MLU_SEED: the order of tasks and copies
  Choices choices = {};
  std::string error = {};  // why a variable is wrong; "" if all are right
};
const Settings& GetSettings();

}  // namespace bang
