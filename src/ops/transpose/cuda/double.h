// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices: the implementation for tensors of type double.
#pragma once

#include "cuda/context.h"
#include "ops/transpose/problem.h"

namespace mluop::transpose {

mluOpStatus_t RunDouble(const CudaCall<Problem>& call, void* scratch);

}  // namespace mluop::transpose
