// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: its operators.
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
