// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: what the tables of psroipool.cc name.
#pragma once

#include "core/operator.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);

// What ForwardCpu asks of Context::Scratch. Depends on nothing that the workspace getter is not
// told.
size_t ForwardScratch(const Problem& problem);

}  // namespace mluop::psroipool
