// SPDX-License-Identifier: Apache-2.0
// The CPU family of psroipool: its operators and the workspace getter.
#include "ops/psroipool/cpu/operators.h"

namespace mluop::psroipool {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratch(MakeProblemWithScale(a, 1));
                                      }}};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
