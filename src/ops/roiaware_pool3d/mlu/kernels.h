// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the MLU: the arguments that the host passes to the kernels, as plain
// structs, which BANG C includes too.
#pragma once

#include "ops/roi/mlu/launch_config.h"

namespace mluop {
namespace roiaware_pool3d {

using roi::LaunchConfig;

struct RoiawareParam {
  int voxels_num;  // boxes_num * out_x * out_y * out_z
  int channels;
  int max_pts_each_voxel;
  int pts_num;
  int nram_channels_limit;  // channels that a core processes at a time
};

// T: half or float. The kernels add to `sums`, which is zero before: grad_in itself for float.
struct RoiawareTensors {
  const int* pts_idx_of_voxels;  // [voxels_num, max_pts_each_voxel]
  const int* argmax;             // [voxels_num, channels]
  const void* grad_out;          // T [voxels_num, channels]
  float* sums;                   // [pts_num, channels]
};

void KernelFillZero(const LaunchConfig& launch, void* data, size_t bytes);
// Rounds `count` sums to grad_in, half, to nearest even.
void KernelRoundToHalf(const LaunchConfig& launch, const float* sums, void* grad_in, size_t count);
void KernelRoiawareMaxPool3dBackwardFloat(const LaunchConfig& launch, const RoiawareParam& param,
                                          const RoiawareTensors& tensors);
void KernelRoiawareMaxPool3dBackwardHalf(const LaunchConfig& launch, const RoiawareParam& param,
                                         const RoiawareTensors& tensors);
void KernelRoiawareAvgPool3dBackwardFloat(const LaunchConfig& launch, const RoiawareParam& param,
                                          const RoiawareTensors& tensors);
void KernelRoiawareAvgPool3dBackwardHalf(const LaunchConfig& launch, const RoiawareParam& param,
                                         const RoiawareTensors& tensors);

}  // namespace roiaware_pool3d
}  // namespace mluop
