// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: its operators, for the list of the device.
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::border_align
