// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: what the tables of border_align.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::border_align {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::border_align
