// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::roiaware_pool3d {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);

// What ForwardCpu asks CpuContext::Scratch for.
size_t ForwardScratchBytes(int64_t boxes, int64_t points);

}  // namespace mluop::roiaware_pool3d
