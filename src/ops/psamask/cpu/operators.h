// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::psamask {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t NchwForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, CpuContext& context);

}  // namespace mluop::psamask
