// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: its operators.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);

// What ForwardCpu asks of CpuContext::Scratch. Depends on nothing that the workspace getter is not
// told.
size_t ForwardScratch(const Problem& problem);

}  // namespace mluop::psroipool
