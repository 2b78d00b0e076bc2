// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels: one thread per element, in order, so that accesses are coalesced.
#pragma once

#include <cstdint>

#include "cuda/context.h"

namespace mluop {

inline constexpr int kForEachThreads = 256;

template <class Body>
__global__ void __launch_bounds__(kForEachThreads)
    ForEachKernel(int64_t count, const __grid_constant__ Body body) {
  const int64_t i = int64_t{blockIdx.x} * kForEachThreads + threadIdx.x;
  if (i < count) body(i);
}

// Calls body(i) on the device for all i < count; `body` is a __device__ lambda. The grid's limit,
// 2^39 elements, exceeds the memory of any device.
template <class Body>
void ForEach(CudaContext& context, int64_t count, const Body& body, bool pdl = false) {
  const Grid grid = {CeilDiv(count, kForEachThreads), kForEachThreads, 0, pdl};
  context.Launch(ForEachKernel<Body>, grid, count, body);
}

}  // namespace mluop
