// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on the CPU: what the tables of masked_im2col.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::masked_im2col {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t Col2imCpu(const Arguments& arguments, Context& context);
mluOpStatus_t Col2imBackwardCpu(const Arguments& arguments, Context& context);

// What the kernels ask of Context::Scratch.
size_t ForwardWorkspaceSize(const Arguments& arguments);
size_t Col2imWorkspaceSize(const Arguments& arguments);

}  // namespace mluop::masked_im2col
