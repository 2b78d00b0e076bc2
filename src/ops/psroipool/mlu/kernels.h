// SPDX-License-Identifier: Apache-2.0
// psroipool forward on the MLU: the arguments that the host passes to the kernels, as plain
// structs, which BANG C includes too.
#pragma once

#include "ops/roi/mlu/launch_config.h"

namespace mluop {
namespace psroipool {

using roi::LaunchConfig;

struct PsRoiPoolParam {
  int batches, height, width;
  int rois_num;
  int group_size;  // = pooled_height = pooled_width
  int output_dim;
  float spatial_scale;
  int num_deal;  // output channels that a core processes at a time
};

struct PsRoiPoolTensors {
  const float* input;    // [batches, height, width, output_dim * group_size * group_size]
  const float* rois;     // [rois_num, 5]
  float* output;         // [rois_num, group_size, group_size, output_dim]
  int* mapping_channel;  // as output
};

// Document 000, 3.3: num_deal is a multiple of ALIGN_SIZE elements. The document does not define
// ALIGN_SIZE; 64 satisfies the rules of 2xx for transposes and vectors.
enum { kAlignSize = 64 };

// The current design: loads pixels by strided IO and transposes them.
void KernelPsRoiPoolForwardTranspose(const LaunchConfig& launch, const PsRoiPoolParam& param,
                                     const PsRoiPoolTensors& tensors);
// The planned optimisation ("VAA"): loads whole pixels and gathers. mlu590.
void KernelPsRoiPoolForwardGather(const LaunchConfig& launch, const PsRoiPoolParam& param,
                                  const PsRoiPoolTensors& tensors);

}  // namespace psroipool
}  // namespace mluop
