// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: its operators, and the loads and stores of both directions.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/context.h"
#include "cuda/words.h"
#include "ops/roiaware_pool3d/cuda/tuning.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

extern const CudaOperator kForwardCuda, kBackwardCuda;

// Scratch of forward, which its workspace getter promises.
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

// Loads and stores of one element or of 16 bytes. Half becomes float, exactly, and is rounded to
// nearest even by the store.
__device__ inline void Load(const float* from, float (&to)[1]) { to[0] = *from; }
__device__ inline void Load(const __half* from, float (&to)[1]) { to[0] = __half2float(*from); }
__device__ inline void Load(const float* from, float (&to)[4]) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ inline float2 Unpack(uint32_t pair) {
  __half2_raw raw;
  raw.x = static_cast<unsigned short>(pair);
  raw.y = static_cast<unsigned short>(pair >> 16);
  return __half22float2(__half2(raw));
}
__device__ inline void Load(const __half* from, float (&to)[4]) {
  const uint2 v = *reinterpret_cast<const uint2*>(from);
  const float2 low = Unpack(v.x), high = Unpack(v.y);
  to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}
__device__ inline void Load(const __half* from, float (&to)[8]) {
  const uint4 v = *reinterpret_cast<const uint4*>(from);
  const uint32_t pairs[] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = Unpack(pairs[i]);
    to[2 * i] = pair.x, to[2 * i + 1] = pair.y;
  }
}

__device__ inline uint32_t Pack(float low, float high) {
  const __half2_raw raw = __floats2half2_rn(low, high);
  return uint32_t{raw.x} | uint32_t{raw.y} << 16;
}

__device__ inline void Store(float* to, const float (&from)[1]) { *to = from[0]; }
__device__ inline void Store(__half* to, const float (&from)[1]) { *to = __float2half_rn(from[0]); }
__device__ inline void Store(float* to, const float (&from)[4]) {
  __stcs(reinterpret_cast<float4*>(to), make_float4(from[0], from[1], from[2], from[3]));
}
__device__ inline void Store(__half* to, const float (&from)[8]) {
  __stcs(reinterpret_cast<uint4*>(to), make_uint4(Pack(from[0], from[1]), Pack(from[2], from[3]),
                                                  Pack(from[4], from[5]), Pack(from[6], from[7])));
}

// Stores one index, or multiples of four aligned to 16 bytes. They are not read again, so they are
// the first to leave the caches.
template <int V>
__device__ inline void StoreIndices(int32_t* to, const int32_t (&from)[V]) {
  if constexpr (V == 1) {
    *to = from[0];
  } else {
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      __stcs(reinterpret_cast<int4*>(to + i),
             make_int4(from[i], from[i + 1], from[i + 2], from[i + 3]));
    }
  }
}

}  // namespace mluop::roiaware_pool3d
