// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: its operators, for the list of the device.
#include "ops/border_align/cpu/operators.h"
#include "cpu/transpose.h"

namespace mluop::border_align {
namespace {

constexpr CpuOperator kNchwForwardCpu =
    Bind<MakeProblem, kTransposed<Problem, CpuContext, kForwardCpu>>("border_align_nchw_forward");
constexpr CpuOperator kNchwBackwardCpu =
    Bind<MakeProblem, kTransposed<Problem, CpuContext, kBackwardCpu>>("border_align_nchw_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::border_align
