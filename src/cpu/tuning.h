// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters that several families share. A family's own are in its cpu/tuning.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop {

// Elements read, added or written that justify one more thread: a few microseconds of work.
inline constexpr int64_t kGrain = 16384;

// Outputs of at least this size are written with non-temporal stores: they would be evicted from the
// caches before anything reads them.
inline constexpr size_t kStreamBytes = size_t{8} << 20;

// Floats rounded up to whole cache lines, so that two threads never write to the same line.
constexpr int64_t WholeLines(int64_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace mluop
