// SPDX-License-Identifier: Apache-2.0
// psroipool: shared declarations of the CUDA kernels.
#pragma once

#include "cuda/context.h"
#include "ops/psroipool/problem.h"
#include "ops/roi/cuda/strided.h"

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

#if defined(__CUDACC__)

__device__ inline float4 operator+(const float4& a, const float4& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

// Keeps kLoads loads in flight: bins are small, and the latency of single loads would dominate. The
// number does not change the order of the sum.
template <int kLoads, typename T, typename Offset>
__device__ T SumBin(roi::Pixels<Offset> pixels, const T* __restrict__ from) {
  T sum = {}, part = {};
// Not unrolled: small bins have few iterations, and larger code costs instruction fetches.
#pragma unroll 1
  for (int loaded = kLoads; pixels.any(); loaded += kLoads) {
    T values[kLoads];
    pixels.Load(from, values);
#pragma unroll
    for (int i = 0; i < kLoads; i += kPixelGroup) {
      part = part + ((values[i] + values[i + 1]) + (values[i + 2] + values[i + 3]));
    }
    if (loaded % kPartPixels != 0) continue;
    sum = sum + part;
    part = {};
  }
  return sum + part;
}

#endif

}  // namespace mluop::psroipool
