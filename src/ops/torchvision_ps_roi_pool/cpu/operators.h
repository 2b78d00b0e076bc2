// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::torchvision_ps_roi_pool {

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context);

}  // namespace mluop::torchvision_ps_roi_pool
