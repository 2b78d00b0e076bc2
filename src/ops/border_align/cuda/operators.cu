// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: its operators, for the list of the device.
#include "cuda/transpose.h"
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {
namespace {

constexpr CudaOperator kNchwForwardCuda =
    Bind<MakeProblem, kTransposed<Problem, CudaContext, kForwardCuda>>("border_align_nchw_forward");
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem, kTransposed<Problem, CudaContext, kBackwardCuda>>(
        "border_align_nchw_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda,
                                              &kNchwBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::border_align
