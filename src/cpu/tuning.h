// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters that several families share. A family's own are in its cpu/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop {

// Minimum number of elements (read, added or written) per additional thread: a few microseconds of
// work.
inline constexpr int64_t kGrain = 16384;

// Returns true if an output of this size is written with non-temporal stores. Without them it would
// be evicted from the caches before it is read. Measured with 16 MiB instead of 8 on outputs of
// 12.5 MB: the gradient of PSANet's masks on 30x30 takes 1.3x to 1.6x the time hot and 1.2x to 3x
// cold, transpose [3481,900] 1.0x and 1.2x (Zen 5 with an L3 of 32 MiB, 2 threads).
inline bool ShouldStream(size_t bytes) { return bytes >= size_t{8} << 20; }

// Rounds up to whole cache lines, which avoids false sharing.
constexpr int64_t WholeLines(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace mluop
