// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices: what its first kernel prepares for the second
// one.
#pragma once

#include "ops/roi/cuda/roi_masks.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {

struct Gradients {
  const float* grad_output;  // [R, O, bins]
  const float* rois;         // [R, 5]
  float* grad_input;         // [N, O, bins, H, W]
};

// What the second kernel reads.
struct Prepared {
  int step;        // columns of a warp
  RoiMasks masks;  // so many columns at a time
  Range* columns;  // [R, pooled_w]
  float* shares;   // [R, bins, O]
};

// Small maps, in one kernel; false where the map is not small.
bool BackwardSmall(const Problem& p, const Gradients& t, CudaContext& context);

void PrepareBackward(const Problem& p, const Gradients& t, const Prepared& prepared,
                     CudaContext& context);

}  // namespace mluop::torchvision_ps_roi_pool
