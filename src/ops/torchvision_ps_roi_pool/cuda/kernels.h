// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: what its kernels share.
#pragma once

#include "cuda/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CudaOperator kForwardCuda, kBackwardCuda;

struct Gradients {
  const float* grad_output;  // [R, O, bins]
  const float* rois;         // [R, 5]
  float* grad_input;         // [N, O, bins, H, W]

  explicit Gradients(const Arguments& a)
      : grad_output(a.In<float>("grad_output")),
        rois(a.In<float>("rois")),
        grad_input(a.Out<float>("grad_input")) {}
};

// Backward, small maps.
bool SmallMapApplies(const CudaCall<Problem>& call);
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch);

}  // namespace mluop::torchvision_ps_roi_pool
