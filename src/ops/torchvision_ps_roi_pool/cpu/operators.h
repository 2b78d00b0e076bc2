// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CpuOperator kForwardCpu, kBackwardCpu;

}  // namespace mluop::torchvision_ps_roi_pool
