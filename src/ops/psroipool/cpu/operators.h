// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

extern const CpuOperator kForwardCpu, kBackwardCpu;

// The largest scratch of all implementations of forward. Depends only on arguments of the workspace
// getter.
size_t ForwardScratch(const Problem& p);

}  // namespace mluop::psroipool
