// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: its operators.
#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {
namespace {

size_t ForwardBytes(const Arguments& a) { return ForwardScratchCuda(MakeProblem(a, 1)); }

constexpr CudaFamily::Entry kOperators[] = {{"psroipool_forward", ForwardCuda},
                                            {"psroipool_backward", BackwardCuda}};
constexpr CudaFamily::Getter kGetters[] = {{"psroipool_forward_workspace", ForwardBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
