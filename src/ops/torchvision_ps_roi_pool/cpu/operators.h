// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: what the tables of torchvision_ps_roi_pool.cc name.
#pragma once

#include "core/operator.h"

namespace mluop::torchvision_ps_roi_pool {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::torchvision_ps_roi_pool
