// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: tuning parameters, with measurements where there are some.
#pragma once

#include <cstdint>

namespace mluop::torchvision_ps_roi_pool {

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

}  // namespace mluop::torchvision_ps_roi_pool
