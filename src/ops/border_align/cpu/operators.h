// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::border_align {

extern const CpuOperator kForwardCpu;   // forward.cc
extern const CpuOperator kBackwardCpu;  // backward.cc

}  // namespace mluop::border_align
