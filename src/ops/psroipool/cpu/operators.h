// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: the implementations of its operators.
#pragma once

#include "cpu/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

extern const CpuOperator kForwardCpu, kBackwardCpu, kNchwForwardCpu, kNchwBackwardCpu;

// The largest scratch of all implementations of forward. Depends only on arguments of the workspace
// getter.
size_t ForwardScratch(const Problem& p);

// Without repacking (strided.cc): the fallbacks of both directions and the implementations "double".
// Elements are read or added in place. Real is float or double.

// Forward.
template <typename Real>
mluOpStatus_t RunStrided(const CpuCall<Problem>& call, void* scratch);

// Backward, with any mapping. Every row of the map is summed by one worker.
template <typename Real>
size_t ScatterBytes(const CpuCall<Problem>& call);
template <typename Real>
mluOpStatus_t RunScatter(const CpuCall<Problem>& call, void* scratch);

// Returns whether all RoIs have the first one's mapping.
bool RoisHaveOneMapping(const Problem& p, const int32_t* mapping, ThreadPool& threads);

}  // namespace mluop::psroipool
