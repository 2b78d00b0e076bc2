// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: what the tables of roiaware_pool3d.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::roiaware_pool3d {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);

// What ForwardCpu asks Context::Scratch for.
size_t ForwardScratchBytes(int64_t boxes, int64_t points);

}  // namespace mluop::roiaware_pool3d
