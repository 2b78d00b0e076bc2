// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CpuOperator kForwardCpu, kBackwardCpu;

// For tensors of type double; double.cc defines them.
mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void* scratch);

}  // namespace mluop::torchvision_ps_roi_pool
