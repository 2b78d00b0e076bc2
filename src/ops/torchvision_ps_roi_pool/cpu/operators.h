// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CpuOperator kForwardCpu, kBackwardCpu;

// direct.cc defines them: forward for Real = float and double, and backward for double.
template <typename Real>
mluOpStatus_t RunDirect(const CpuCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void* scratch);

}  // namespace mluop::torchvision_ps_roi_pool
