// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: its operators. Each file defines the list of its implementations.
#pragma once

#include "cpu/context.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

extern const CpuOperator kForwardCpu, kBackwardCpu;

// Scratch of forward in bytes; also returned by the workspace getter.
size_t ForwardScratchBytes(int64_t boxes, int64_t points);

}  // namespace mluop::roiaware_pool3d
