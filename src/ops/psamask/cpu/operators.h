// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: what the tables of psamask.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::psamask {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t NchwForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::psamask
