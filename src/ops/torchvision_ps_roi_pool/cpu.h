// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/operator.h"

namespace mluop::torchvision_ps_roi_pool {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::torchvision_ps_roi_pool
