// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/operator.h"

namespace mluop::psamask {

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t NchwForwardCpu(const Arguments& arguments, Context& context);
mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, Context& context);

}  // namespace mluop::psamask
