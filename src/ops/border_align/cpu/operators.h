// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: its operators.
#pragma once

#include "cpu/context.h"
#include "ops/border_align/problem.h"

namespace mluop::border_align {

extern const CpuOperator kForwardCpu;       // forward.cc
extern const CpuOperator kBackwardCpu;      // backward.cc
extern const CpuOperator kNchwForwardCpu;   // planes.cc
extern const CpuOperator kNchwBackwardCpu;  // planes.cc

// For tensors of type double; double.cc defines them.
mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void* scratch);

}  // namespace mluop::border_align
