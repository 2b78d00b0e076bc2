// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters that several families share. A family's own are in its cpu/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop {

// Minimum number of elements (read, added or written) per additional thread: a few microseconds of
// work.
inline constexpr int64_t kGrain = 16384;

// Returns true if an output of this size is written with non-temporal stores: it would be evicted
// from the caches before anything reads it. Defined in caches.cc.
bool ShouldStream(size_t bytes);

// Rounds up to whole cache lines, which avoids false sharing.
constexpr int64_t WholeLines(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace mluop
