// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: tuning parameters, each with the measurement that set it
// (NVIDIA H200).
#pragma once

#include <cstdint>

namespace mluop::torchvision_ps_roi_pool {

// Forward: staging reads the whole map; reading directly costs a sector or two per row of each bin. A
// map below 4 MiB is in the L2 after its first use, and its planes are too small for a block each. 0.68x
// the time of direct on 3969x38x63 with 300 RoIs.
constexpr int64_t kMinStaged = int64_t{1} << 20;
constexpr int64_t kMapPerOutput = 32;

// Planes of a block at a time. Small blocks reduce the tail effect.
constexpr int kMaxPlanes = 3;

// Backward: RoIs of small_map; they fit into shared memory. 0.37x the time of masks on 392x14x14 with 320
// RoIs, 0.45x on 189x14x14 with 493 RoIs.
constexpr int64_t kSmallMapRois = 1024;

}  // namespace mluop::torchvision_ps_roi_pool
