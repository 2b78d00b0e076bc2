// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU: the implementation for tensors of type double.
#pragma once

#include "cpu/context.h"
#include "ops/transpose/problem.h"

namespace mluop::transpose {

mluOpStatus_t RunDouble(const CpuCall<Problem>& call, void* scratch);

}  // namespace mluop::transpose
