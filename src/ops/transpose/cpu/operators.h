// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU: what the tables of transpose.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::transpose {

mluOpStatus_t TransposeCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::transpose
