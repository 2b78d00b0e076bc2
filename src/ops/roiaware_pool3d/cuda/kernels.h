// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: its operators, and the loads and stores of both directions.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/context.h"
#include "cuda/words.h"
#include "ops/roiaware_pool3d/cuda/tuning.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

extern const CudaOperator kForwardCuda, kBackwardCuda;

// For tensors of type double (double.cu).
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch);

// Scratch of forward in bytes; also returned by the workspace getter.
size_t ForwardCudaScratchBytes(int64_t boxes, int64_t points);

constexpr int kLanes = 32;
constexpr int kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffff;

// Channels that a thread loads at once where the rows of T are aligned to 16 bytes.
template <typename T>
inline constexpr int kWide = 16 / sizeof(T);

// Calls visit(row, at) for all at < length of all rows < size. Neighbouring threads of the block have
// neighbouring elements.
template <class Visit>
__device__ void ForEachInRows(uint32_t size, uint32_t length, Visit visit) {
  const uint32_t rows = blockDim.x / length, rest = blockDim.x % length;
  uint32_t row = threadIdx.x / length, at = threadIdx.x % length;
  while (row < size) {
    visit(row, at);
    row += rows, at += rest;
    if (at >= length) at -= length, ++row;
  }
}

// The type that tensors of T are computed in.
template <typename T>
using RealOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Loads V elements, at an address that is a multiple of their size. Half becomes float, exactly.
template <typename T, int V>
__device__ void Load(const T* from, RealOf<T> (&to)[V]) {
  using W = typename Word<sizeof(T) * V>::Type;
  const auto pack = std::bit_cast<Pack<T, V>>(*reinterpret_cast<const W*>(from));
#pragma unroll
  for (int i = 0; i < V; ++i) to[i] = static_cast<RealOf<T>>(pack.at[i]);
}

// Rounds to nearest even.
template <typename T, int V>
__device__ void Store(T* to, const RealOf<T> (&from)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int i = 0; i < V; ++i) pack.at[i] = static_cast<T>(from[i]);
  StorePack(pack, to);
}

// Stores one index, or multiples of four aligned to 16 bytes.
template <int V>
__device__ void StoreIndices(int32_t* to, const int32_t (&from)[V]) {
  constexpr int kStep = V < 4 ? V : 4;
#pragma unroll
  for (int i = 0; i < V; i += kStep) {
    Pack<int32_t, kStep> pack;
#pragma unroll
    for (int k = 0; k < kStep; ++k) pack.at[k] = from[i + k];
    StorePack(pack, to + i);
  }
}

}  // namespace mluop::roiaware_pool3d
