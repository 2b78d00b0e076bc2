// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: what is scattered, and the maximum.
#pragma once

#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {
namespace {

// There are less than 2^31 elements in any tensor.
template <typename T>
struct Scatter {
  Problem p;
  uint32_t groups = 0;                   // of channels, of one voxel, each of which a thread takes
  uint32_t first_point = 0, points = 0;  // of the sums
  const int32_t* indices;                // [voxels, slots]
  const int32_t* argmax;                 // [voxels, channels], or NULL
  const T* grad;                         // [voxels, channels]

  // Not below `points` where the sums have no such point.
  __device__ uint32_t Row(int32_t point) const {
    return static_cast<uint32_t>(point) - first_point;
  }
};

// Elements of a thread whose loads are under way at the same time. With two, sparse voxels took 1.2
// times as long.
constexpr int kAtOnce = 4;

// Neighbouring threads have neighbouring channels: where they name one point, their additions reach
// the second-level cache together. 16 bytes a thread took 1.1 times as long on dense voxels.
template <typename T, class Sums>
__global__ void __launch_bounds__(kThreads) AddMaximum(Scatter<T> s, Sums sums, uint32_t elements) {
  const uint32_t first = blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
  uint32_t row[kAtOnce];
  float grad[kAtOnce][1];
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const uint32_t at = first + u * kThreads;
    row[u] = s.Row(at < elements ? __ldcs(s.argmax + at) : -1);
  }
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    if (row[u] < s.points) Load(s.grad + first + u * kThreads, grad[u]);
  }
  if constexpr (Sums::kEarlyMaximum) {
    WaitForPredecessor();
    TriggerDependents();
  }
  sums.Begin();
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const uint32_t channels = s.p.channels, channel = (first + u * kThreads) % channels;
    if (row[u] < s.points) sums.Add(row[u] * channels + channel, grad[u]);
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
