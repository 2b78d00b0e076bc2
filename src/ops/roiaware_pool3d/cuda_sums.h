// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: three ways to add gradients to a point's channels.
//   FloatSums, PackedSums   atomic additions, in the order in which they happen to arrive
//   FixedSums               integers, whose sums are the same in every order
// Each has Begin(), which all threads of a block call once before they add, and Add(at, gradients),
// `at` being the first element of [points, channels].
#pragma once

#include <cmath>
#include <type_traits>

#include "core/host_device.h"
#include "ops/roiaware_pool3d/cuda.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kWarps = kThreads / 32;

struct FloatSums {
  float* sums;

  __device__ void Begin() {}

  __device__ void Add(uint32_t at, const float (&g)[1]) const { atomicAdd(sums + at, g[0]); }

  // `at` is a multiple of V, and sums + at is aligned to 16 bytes.
  template <int V>
  __device__ void Add(uint32_t at, const float (&g)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i += 4) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                       __cvta_generic_to_global(sums + at + i)),
                   "f"(g[i]), "f"(g[i + 1]), "f"(g[i + 2]), "f"(g[i + 3])
                   : "memory");
#else
      for (int k = i; k < i + 4; ++k) atomicAdd(sums + at + k, g[k]);
#endif
    }
  }
};

// Half sums, rounded at each addition: for few additions to an element.
struct PackedSums {
  __half* sums;  // aligned to 16 bytes

  __device__ void Begin() {}

  // `at` is even.
  __device__ void AddPair(uint32_t at, float low, float high) const {
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(sums + at)),
                 "r"(Pack(low, high))
                 : "memory");
  }

  // A single half would be a loop of compare and swap. -0 changes nothing.
  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    AddPair(at & ~1u, at % 2 == 0 ? g[0] : -0.0f, at % 2 == 0 ? -0.0f : g[0]);
  }

  // `at` is a multiple of 8.
  __device__ void Add(uint32_t at, const float (&g)[8]) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(
                     __cvta_generic_to_global(sums + at)),
                 "r"(Pack(g[0], g[1])), "r"(Pack(g[2], g[3])), "r"(Pack(g[4], g[5])),
                 "r"(Pack(g[6], g[7]))
                 : "memory");
#else
#pragma unroll
    for (int i = 0; i < 8; i += 2) AddPair(at + i, g[i], g[i + 1]);
#endif
  }
};

// Gradients in units of 2^-shift, rounded to the nearest, in sums of 64 bits. If voxels <= 2^bits
// and no gradient reaches 2^(exponent+1), no sum exceeds 2^62: a voxel gives a point at most its
// gradient, also in shares. With 2^18 voxels a unit is 2^-43 of the greatest gradient at most.
// What is not finite leaves a mark instead: the result follows from the marks alone.
struct FixedSums {
  static constexpr uint32_t kPlus = 1, kMinus = 2, kNan = 4;
  static constexpr int kMarks = 8;  // elements of a word of marks

  unsigned long long* sums;
  uint32_t* marks;         // four bits an element
  const uint32_t* maxima;  // greatest bits of |gradient|, of each block that looked for them
  int blocks;              // 0: `shift` is known
  int bits;
  int shift;
  int* found_shift;     // where the blocks' shift is left
  float scale[2] = {};  // their product is 2^shift

  static MLUOP_HOST_DEVICE int Shift(int bits, int exponent) { return 61 - bits - exponent; }

  __device__ void Begin() {
    if (blocks > 0) FindShift();
    // 2^shift may be beyond float's range, its halves are not.
    scale[0] = Power(shift / 2);
    scale[1] = Power(shift - shift / 2);
  }

  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    if (isfinite(g[0])) {
      const auto units = static_cast<unsigned long long>(__float2ll_rn(g[0] * scale[0] * scale[1]));
      if (units != 0) atomicAdd(sums + at, units);
      return;
    }
    const uint32_t mark = isnan(g[0]) ? kNan : g[0] > 0 ? kPlus : kMinus;
    atomicOr(marks + at / kMarks, mark << (at % kMarks * 4));
  }

  // unit: 2^-shift
  template <typename T>
  __device__ void Round(uint32_t at, double unit, T* to) const {
    const uint32_t mark = marks[at / kMarks] >> (at % kMarks * 4) & 0xf;
    double value = static_cast<double>(static_cast<long long>(sums[at])) * unit;
    if (mark != 0) value = mark == kPlus ? HUGE_VAL : mark == kMinus ? -HUGE_VAL : nan("");
    if constexpr (std::is_same_v<T, float>) {
      *to = __double2float_rn(value);
    } else {
      *to = __double2half(value);
    }
  }

 private:
  static __device__ float Power(int exponent) { return __int_as_float((exponent + 127) << 23); }

  __device__ void FindShift() {
    __shared__ uint32_t greatest[kWarps];
    uint32_t most = 0;
    for (int i = threadIdx.x; i < blocks; i += kThreads) most = max(most, maxima[i]);
    for (int step = 16; step > 0; step /= 2) {
      most = max(most, __shfl_xor_sync(0xffffffff, most, step));
    }
    if (threadIdx.x % 32 == 0) greatest[threadIdx.x / 32] = most;
    __syncthreads();
    for (int warp = 0; warp < kWarps; ++warp) most = max(most, greatest[warp]);
    // Denormals have the exponent of the least normal number.
    shift = Shift(bits, max(static_cast<int>(most >> 23), 1) - 127);
    if (blockIdx.x == 0 && threadIdx.x == 0) *found_shift = shift;
  }
};

// Zeroes the sums, and leaves each block's greatest |gradient|, as bits, among the finite ones.
struct Preparation {
  const float* grad;
  int64_t count;
  bool wide;  // grad is aligned to 16 bytes
  uint4* sums;
  int64_t vectors;  // of 16 bytes, in sums
  uint32_t* maxima;
};

__device__ uint32_t FiniteBits(float value) {
  const uint32_t bits = __float_as_uint(value) & 0x7fffffff;
  return bits < 0x7f800000 ? bits : 0;
}

__global__ void __launch_bounds__(kThreads) Prepare(Preparation c) {
  __shared__ uint32_t greatest[kWarps];
  const int64_t first = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = first; i < c.vectors; i += step) c.sums[i] = make_uint4(0, 0, 0, 0);
  const int64_t loads = c.wide ? c.count / 4 : 0;
  uint32_t most = 0;
#pragma unroll 4
  for (int64_t i = first; i < loads; i += step) {
    float grad[4];
    Load(c.grad + i * 4, grad);
#pragma unroll
    for (int k = 0; k < 4; ++k) most = max(most, FiniteBits(grad[k]));
  }
  for (int64_t i = loads * 4 + first; i < c.count; i += step) {
    most = max(most, FiniteBits(c.grad[i]));
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    most = max(most, __shfl_xor_sync(0xffffffff, most, offset));
  }
  if (threadIdx.x % 32 == 0) greatest[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kWarps; ++warp) most = max(most, greatest[warp]);
  c.maxima[blockIdx.x] = most;
}

__global__ void __launch_bounds__(kThreads)
    RoundFloats(const float* __restrict__ sums, uint32_t count, __half* __restrict__ grad_in) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) grad_in[i] = __float2half_rn(sums[i]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) RoundFixed(FixedSums sums, uint32_t count, T* grad_in) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int shift = sums.blocks > 0 ? *sums.found_shift : sums.shift;
  sums.Round(i, __longlong_as_double(static_cast<long long>(1023 - shift) << 52), grad_in + i);
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
