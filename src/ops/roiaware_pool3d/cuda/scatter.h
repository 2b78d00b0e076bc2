// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: the scatter of the maximum, and the kernel before the
// additions of both methods.
#pragma once

#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/sums.h"

namespace mluop::roiaware_pool3d {
namespace {

// The tensors of a call. Each has fewer than 2^31 elements.
template <typename T>
struct Gradients {
  Problem p;
  const int32_t* indices;  // [voxels, slots]
  const int32_t* argmax;   // [voxels, channels], or NULL
  const T* grad;           // [voxels, channels]
  uint32_t groups = 0;     // threads per voxel: channels / V

  __device__ uint32_t points() const { return p.points; }
};

// Adds the gradients of the maximum. Neighbouring threads have neighbouring channels: if these name the
// same point, their additions reach the L2 together. 16 bytes per thread took 1.1x the time on dense
// voxels.
template <typename T, class Sums>
__global__ void __launch_bounds__(kThreads)
    AddMaximum(Gradients<T> s, Sums sums, uint32_t elements) {
  const uint32_t first = blockIdx.x * (kThreads * kElementsInFlight) + threadIdx.x;
  uint32_t row[kElementsInFlight];  // not below points() if it is no point
  float grad[kElementsInFlight][1];
#pragma unroll
  for (int u = 0; u < kElementsInFlight; ++u) {
    const uint32_t at = first + u * kThreads;
    row[u] = at < elements ? __ldcs(s.argmax + at) : -1;
  }
  bool repeats = false;
#pragma unroll
  for (int u = 0; u < kElementsInFlight; ++u) {
    if (row[u] >= s.points()) continue;
    LoadElements(s.grad + first + u * kThreads, grad[u]);
#pragma unroll
    for (int v = 0; v < u; ++v) repeats |= row[u] == row[v];
  }
  const bool sum_repeated = __syncthreads_count(repeats) >= kMinRepeats;
  if constexpr (Sums::kPdlMaximum) {
    WaitForPredecessor();
    TriggerDependents();
  }
  sums.Begin();
  const uint32_t channels = s.p.channels;
  const auto for_each = [&](auto add) {
#pragma unroll
    for (int u = 0; u < kElementsInFlight; ++u) {
      const uint32_t channel = (first + u * kThreads) % channels;
      if (row[u] < s.points()) add(row[u] * channels + channel, grad[u]);
    }
  };
  if (!sum_repeated) {
    return for_each([&](uint32_t at, const float(&g)[1]) {
      typename Sums::ScaledGrad scaled[1];
      if (ConvertGrads(sums, at, g, scaled)) sums.Add(at, scaled);
    });
  }
  RepeatedSums<Sums, 1, false> repeated(sums);
  __syncthreads();
  for_each([&](uint32_t at, const float(&g)[1]) { repeated.Add(at, g); });
  repeated.End();
}

__device__ uint32_t FiniteBits(float value) {
  const uint32_t bits = __float_as_uint(value) & 0x7fffffff;
  return bits < 0x7f800000 ? bits : 0;
}

// Zeroes the sums, `vectors` of 16 bytes, and writes the largest finite |gradient| of each block,
// as its bit pattern. wide: grad is aligned to 16 bytes
__global__ void __launch_bounds__(kThreads)
    Prepare(const float* grad, int64_t count, bool wide, uint4* sums, int64_t vectors,
            uint32_t* maxima) {
  TriggerDependents();
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = first; i < vectors; i += step) sums[i] = make_uint4(0, 0, 0, 0);
  const int64_t loads = wide ? count / 4 : 0;
  uint32_t greatest = 0;
#pragma unroll 4
  for (int64_t i = first; i < loads; i += step) {
    float four[4];
    LoadElements(grad + i * 4, four);
#pragma unroll
    for (int k = 0; k < 4; ++k) greatest = max(greatest, FiniteBits(four[k]));
  }
  for (int64_t i = loads * 4 + first; i < count; i += step) {
    greatest = max(greatest, FiniteBits(grad[i]));
  }
  greatest = BlockMax(greatest);
  if (threadIdx.x == 0) maxima[blockIdx.x] = greatest;
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
