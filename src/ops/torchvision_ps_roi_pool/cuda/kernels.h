// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool: shared declarations of the CUDA kernels.
#pragma once

#include "cuda/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CudaOperator kForwardCuda, kBackwardCuda;

}  // namespace mluop::torchvision_ps_roi_pool
