// SPDX-License-Identifier: Apache-2.0
// The CPU family of psroipool: its operators and the workspace getter.
#include "ops/psroipool/cpu/operators.h"
#include "cpu/transpose.h"

namespace mluop::psroipool {
namespace {

constexpr CpuOperator kNchwForwardCpu =
    Bind<MakeProblem, kTransposed<Problem, CpuContext, kForwardCpu>>("psroipool_nchw_forward");
constexpr CpuOperator kNchwBackwardCpu =
    Bind<MakeProblem, kTransposed<Problem, CpuContext, kBackwardCpu>>("psroipool_nchw_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratch(MakeProblemWithScale(a, 1));
                                      }}};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
