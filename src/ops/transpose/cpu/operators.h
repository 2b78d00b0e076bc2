// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::transpose {

mluOpStatus_t TransposeCpu(const Arguments& arguments, CpuContext& context);

}  // namespace mluop::transpose
