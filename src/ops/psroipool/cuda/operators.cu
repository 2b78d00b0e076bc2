// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: its operators.
#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {
namespace {

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda,
                                              &kNchwBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", [](const Arguments& a) {
                                        const Problem p = MakeProblemWithScale(a, 1);
                                        return CanRepack(p) ? RepackedBytes(p) : 0;
                                      }}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
