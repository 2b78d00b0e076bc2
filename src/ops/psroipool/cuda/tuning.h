// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: tuning parameters, with measurements where there are some (NVIDIA H200).
#pragma once

#include <cstdint>

namespace mluop::psroipool {

// Forward: repacking reads the whole map. Strided reads cost a sector per pixel of each output, and
// an output of a large map has tens of pixels. 0.30x the time of strided on 38x63x3969 with 300
// RoIs. A map below 4 MiB is in the L2 after its first use.
constexpr int64_t kMinRepackElements = int64_t{1} << 20;
constexpr int64_t kMaxMapPerOutput = 32;

// Backward: RoIs of small_map, one part of a sum. Its two kernels take 0.17x (14x14x392, 320 RoIs) and
// 0.33x (14x14x189, 493 RoIs) the time of masks.
constexpr int64_t kSmallMapRois = 512;

// RoIs whose gradients make a part of a sum, in words of the masks: no chain of additions is long.
constexpr int kPartWords = 16;
static_assert(kPartWords * 32 == kSmallMapRois, "both implementations add in the same order");

}  // namespace mluop::psroipool
