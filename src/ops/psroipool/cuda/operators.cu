// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: its operators.
#include "cuda/transpose.h"
#include "ops/psroipool/cuda/backward.h"

namespace mluop::psroipool {
namespace {

constexpr auto& kTransposedBackward = kTransposed<Problem, CudaContext, kBackwardCuda>;

constexpr CudaImplementation<Problem> kNchwBackward[] = {
    {"small_map", "at most 1024 pixels and 512 RoIs, and few blocks", SmallMapApplies,
     SmallMapBytes, RunSmallMap<true>},
    kTransposedBackward[0],
    kTransposedBackward[1],
};
constexpr CudaOperator kNchwBackwardCuda =
    Bind<MakeProblem, kNchwBackward>("psroipool_nchw_backward");

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
