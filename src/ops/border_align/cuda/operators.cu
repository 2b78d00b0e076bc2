// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: its operators.
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {
namespace {

constexpr CudaFamily::Entry kOperators[] = {{"border_align_forward", ForwardCuda},
                                            {"border_align_backward", BackwardCuda}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::border_align
