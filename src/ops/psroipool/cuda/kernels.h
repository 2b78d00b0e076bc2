// SPDX-License-Identifier: Apache-2.0
// psroipool: shared declarations of the CUDA kernels.
#pragma once

#include "cuda/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

// Forward, large maps: the map is repacked in scratch.
bool CanRepack(const Problem& p);
size_t RepackedBytes(const Problem& p);
mluOpStatus_t RunRepacked(const CudaCall<Problem>& call, void* scratch);

// Order of the sum of a bin, the same in all implementations of forward. Four pixels, row by row,
// make a quad: (v0 + v1) + (v2 + v3). Quads of 64 pixels make a part, the parts the sum: no chain of
// additions is long. Missing pixels are zeros.
constexpr int kPixelGroup = 4;
constexpr int kPartPixels = 64;

}  // namespace mluop::psroipool
