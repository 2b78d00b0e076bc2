// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters that several families share. A family's own are in its cpu/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop {

// Minimum number of elements (read, added or written) per additional thread: a few microseconds of
// work.
inline constexpr int64_t kGrain = 16384;

// Outputs of at least this size are written with non-temporal stores: they would be evicted from the
// caches before anything reads them.
inline constexpr size_t kStreamBytes = size_t{8} << 20;

// Rounds up to whole cache lines, which avoids false sharing.
constexpr int64_t WholeLines(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace mluop
