// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: tuning parameters, with measurements where there are some. Times are ratios to
// the other choice, with warm caches, on two threads of an AVX-512 machine.
#pragma once

#include <cstdint>

#include "ops/roi/cpu/tuning.h"

namespace mluop::psroipool {

// Floats of a band. Forward: 1 MiB, half of a common L2, unless one row of the map is longer.
// Backward: 512 KiB, unless one row of kMinSlice channels is longer.
inline constexpr int64_t kForwardBand = int64_t{1} << 18;
inline constexpr int64_t kBackwardBand = int64_t{1} << 17;
inline constexpr int64_t kMinSlice = 16;

// Repacking with fewer channels has no tiles to transpose: it is no faster than strided reads.
inline constexpr int kMinVector = 4;

// Minimum bins per slice: a smaller slice reads most cache lines of the map but uses few elements.
inline constexpr int64_t kMinBins = 2;

// A strided element costs a cache line, as much as repacking this many elements. Break-even measured
// at 25 RoIs on 38x63x3969 and at 8 RoIs on 14x14x392.
inline constexpr int64_t kStridedCost = 6;

// Workers with a copy of the map each. Copies save the second visit to every bin and a barrier.
// They take 0.75x the time of bands on 14x14x392 with 320 RoIs, 0.83x on 14x14x189 with 493 RoIs.
inline constexpr int64_t kMaxReplicas = 8;

// The largest scratch in floats (1 GiB), unless twice the tensors are more.
inline constexpr int64_t kMaxFloats = int64_t{1} << 28;

// The orders of the sums: Sum::kNested and Sum::kGradients.
using roi::kChunkColumns;
using roi::kPartialRois;
using roi::kPartialRows;

}  // namespace mluop::psroipool
