// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: three ways to add gradients to a point's channels.
//   FloatSums, PackedSums   atomic additions, in the order in which they happen to arrive
//   FixedSums               integers, whose sums are the same in every order
// Each has Begin(), which all threads of a block call once before they add, and Add(at, gradients),
// `at` being the first element of [points, channels]. kEarlyMaximum: the maximum starts before the
// sums are zero (pdl.h)
#pragma once

#include <cmath>
#include <type_traits>

#include "core/host_device.h"
#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kMostWarps = 32;  // of any block

struct FloatSums {
  using Share = float;                          // as a block sums them up
  static constexpr bool kEarlyMaximum = false;  // 1.04 of the time

  float* sums;

  static __device__ bool Holds(float) { return true; }
  static __device__ Share ToShare(float value) { return value; }

  __device__ void Begin() {}

  __device__ void Add(uint32_t at, const float (&g)[1]) const { atomicAdd(sums + at, g[0]); }

  // `at` is a multiple of 4, and sums + at is aligned to 16 bytes.
  __device__ void Add(uint32_t at, const float (&g)[4]) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(sums + at)),
        "f"(g[0]), "f"(g[1]), "f"(g[2]), "f"(g[3])
        : "memory");
#else
    for (int i = 0; i < 4; ++i) atomicAdd(sums + at + i, g[i]);
#endif
  }
};

// Half sums, rounded at each addition: for few additions to an element.
struct PackedSums {
  static constexpr bool kEarlyMaximum = true;

  __half* sums;  // aligned to 4 bytes, whole pairs

  __device__ void Begin() {}

  // A single half would be a loop of compare and swap. -0 changes nothing.
  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    const uint32_t pair = at % 2 == 0 ? Pack(g[0], -0.0f) : Pack(-0.0f, g[0]);
    asm volatile(
        "red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(sums + (at & ~1u))),
        "r"(pair)
        : "memory");
  }
};

// Gradients in units of 2^-shift, rounded to the nearest, in sums of 64 bits. If voxels <= 2^bits
// and no gradient reaches 2^(exponent+1), no sum exceeds 2^62: a voxel gives a point at most its
// gradient, also in shares. With 2^18 voxels a unit is 2^-43 of the greatest gradient at most.
// What is not finite leaves a mark instead: the result follows from the marks alone.
struct FixedSums {
  static constexpr uint32_t kPlus = 1, kMinus = 2, kNan = 4;
  static constexpr int kMarks = 8;  // elements of a word of marks
  using Share = unsigned long long;
  static constexpr bool kEarlyMaximum = true;

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

  // What it does not hold is 0 as a share, and is added as it is.
  static __device__ bool Holds(float value) { return isfinite(value); }
  __device__ Share ToShare(float value) const {
    return Holds(value) ? static_cast<Share>(__float2ll_rn(value * scale[0] * scale[1])) : 0;
  }

  __device__ void Add(uint32_t at, const Share (&units)[1]) const {
    if (units[0] != 0) atomicAdd(sums + at, units[0]);
  }
  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    if (Holds(g[0])) {
      const Share units[1] = {ToShare(g[0])};
      Add(at, units);
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
    __shared__ uint32_t greatest[kMostWarps];
    uint32_t most = 0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) most = max(most, maxima[i]);
    for (int step = 16; step > 0; step /= 2) {
      most = max(most, __shfl_xor_sync(0xffffffff, most, step));
    }
    if (threadIdx.x % 32 == 0) greatest[threadIdx.x / 32] = most;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; ++warp) most = max(most, greatest[warp]);
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
  TriggerDependents();
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

// Instead of the driver's fill: the next kernel may start meanwhile.
__global__ void __launch_bounds__(kThreads) ZeroSums(uint4* sums, int64_t vectors) {
  TriggerDependents();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < vectors) sums[i] = make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(kThreads)
    RoundFloats(const float* sums, uint32_t count, __half* __restrict__ grad_in) {
  WaitForPredecessor();
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) grad_in[i] = __float2half_rn(sums[i]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) RoundFixed(FixedSums sums, uint32_t count, T* grad_in) {
  WaitForPredecessor();
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int shift = sums.blocks > 0 ? *sums.found_shift : sums.shift;
  sums.Round(i, __longlong_as_double(static_cast<long long>(1023 - shift) << 52), grad_in + i);
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
