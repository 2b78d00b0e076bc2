// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on the CPU: the operators, each defined in its own file.
#pragma once

#include "cpu/context.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

extern const CpuOperator kForwardCpu;
extern const CpuOperator kBackwardCpu;
extern const CpuOperator kCol2imCpu;
extern const CpuOperator kCol2imBackwardCpu;

// The workspaces that the forward operators ask for.
size_t ForwardWorkspaceSize(const Arguments& arguments);
size_t Col2imWorkspaceSize(const Arguments& arguments);

}  // namespace mluop::masked_im2col
