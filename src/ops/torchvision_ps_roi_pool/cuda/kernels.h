// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: what its kernels share.
#pragma once

#include "cuda/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CudaOperator kForwardCuda, kBackwardCuda;

// For tensors of type double (double.cu).
mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch);
size_t DoubleBackwardBytes(const CudaCall<Problem>& call);

// Backward, small maps.
bool SmallMapApplies(const CudaCall<Problem>& call);
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch);

}  // namespace mluop::torchvision_ps_roi_pool
