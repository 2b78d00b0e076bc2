// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::masked_im2col {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t Col2imCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t Col2imBackwardCpu(const Arguments& arguments, CpuContext& context);

// What the kernels ask of CpuContext::Scratch.
size_t ForwardWorkspaceSize(const Arguments& arguments);
size_t Col2imWorkspaceSize(const Arguments& arguments);

}  // namespace mluop::masked_im2col
