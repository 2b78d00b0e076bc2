// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

extern const CpuOperator kForwardCpu, kBackwardCpu;

// The largest scratch of all implementations of forward. It depends on nothing that the workspace
// getter does not know.
size_t ForwardScratch(const Problem& p);

// For tensors of type double; double.cc defines them.
mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void* scratch);

}  // namespace mluop::psroipool
