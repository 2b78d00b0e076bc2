// SPDX-License-Identifier: Apache-2.0
// Transposes batches of matrices, on all threads of the call.
#pragma once

#include "core/transposed.h"
#include "cpu/context.h"

namespace mluop {

// to[n][b][a] = from[n][a][b], with a < rows and b < columns. Copies bits exactly.
mluOpStatus_t Transpose(CpuContext& context, const Matrices& matrices, const void* from, void* to);

}  // namespace mluop
