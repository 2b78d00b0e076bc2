// SPDX-License-Identifier: Apache-2.0
// Position-sensitive pooling on the CPU: the order of sums, and tuning parameters of NCHW tensors, with
// measurements where there are some.
#pragma once

#include <cstdint>

namespace mluop::roi {

// The sums of a bin's pixels, or of a pixel's gradients. The order is the same in every
// implementation of an operator.
enum class Sum {
  kChain,   // the pixels of a bin row by row, from 0
  kNested,  // 32 columns (chunk), a row, 32 rows counted from the bin's first (partial sum), the bin
  kGradients,  // up to 512 RoIs in ascending order (partial sum), all RoIs
};

// kNested: a chain over a bin of 120,000 equal pixels would lose the last digits.
inline constexpr int64_t kChunkColumns = 32;
inline constexpr int64_t kPartialRows = 32;

// kGradients: with 100,000 equal gradients, a single chain has an error of 1e-4, partial sums 1e-5.
inline constexpr int64_t kPartialRois = 512;

// Floats of a band: a quarter of a common L2 forward, half of it backward. Swapping the two sizes
// costs 10 % in each direction (3969x38x63).
inline constexpr int64_t kForwardBand = int64_t{1} << 17;
inline constexpr int64_t kBackwardBand = int64_t{1} << 18;

// Channels of a slice, unless there are fewer: a cache line.
inline constexpr int64_t kMinSlice = 16;

// Forward: repacking needs at least this many channels: fewer do not fill a vector.
inline constexpr int64_t kMinVector = 3;

// Forward: a bin element read in place costs as much as repacking this many elements of the map.
// Break-even measured at 1/5 of the map's elements on 3969x38x63, and at 1/2 on 392x14x14.
inline constexpr int64_t kDirectCost = 4;

}  // namespace mluop::roi
