// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::border_align {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);

}  // namespace mluop::border_align
