// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: its operators, for the list of the device.
#include "ops/border_align/cpu/operators.h"

namespace mluop::border_align {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::border_align
