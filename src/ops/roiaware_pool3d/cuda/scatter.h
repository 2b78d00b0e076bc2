// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: the scatter of the maximum, and the sums that both methods
// add to:
//   FloatSums, PackedSums   atomic additions, in arbitrary order
//   IntegerSums             integers, whose sums are the same in every order
// All threads of a block call Begin() once, then Add(at, scaled), where `at` is the first element in
// [points, channels] and `scaled` are gradients in the type of the sums (Convert). Gradients that are
// not representable convert to 0 and need Mark(at, gradient). kPdlMaximum: AddMaximum starts before
// the sums are zero (cuda/pdl.h).
#pragma once

#include <cmath>
#include <type_traits>

#include "core/host_device.h"
#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

// Returns the greatest value of all threads of a block. All of them must call it, once per kernel.
__device__ uint32_t BlockMax(uint32_t value) {
  __shared__ uint32_t warps[32];
  for (int step = 16; step > 0; step /= 2)
    value = max(value, __shfl_xor_sync(kAllLanes, value, step));
  if (threadIdx.x % kLanes == 0) warps[threadIdx.x / kLanes] = value;
  __syncthreads();
  for (int warp = 0; warp < blockDim.x / kLanes; ++warp) value = max(value, warps[warp]);
  return value;
}

struct FloatConversion {
  using ScaledGrad = float;  // the type in which a block adds scaled gradients

  static __device__ bool IsRepresentable(float) { return true; }
  static __device__ float Convert(float value) { return value; }
  __device__ void Begin() {}
  __device__ void Mark(uint32_t, float) const {}
};

struct FloatSums : FloatConversion {
  static constexpr bool kPdlMaximum = false;  // true: 1.04x the time

  float* sums;

  explicit FloatSums(float* memory) : sums(memory) {}

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
struct PackedSums : FloatConversion {
  static constexpr bool kPdlMaximum = true;

  __half* sums;  // aligned to 4 bytes, whole pairs

  explicit PackedSums(__half* memory) : sums(memory) {}

  // Adds a pair: a single half would be a loop of compare and swap. -0 is the additive identity.
  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    const __half value = __float2half_rn(g[0]), none = __float2half_rn(-0.0f);
    const Pack<__half, 2> pair = {at % 2 == 0 ? value : none, at % 2 == 0 ? none : value};
    asm volatile(
        "red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(sums + (at & ~1u))),
        "r"(std::bit_cast<uint32_t>(pair))
        : "memory");
  }
};

// Sums of 64-bit integers in units of 2^-shift; each gradient is rounded to the nearest unit. Invariant:
// if voxels <= 2^bits and every gradient is below 2^(exponent+1), no sum exceeds 2^62, because a voxel
// gives a point at most its gradient. With 2^18 voxels a unit is at most 2^-43 of the greatest gradient.
// NaN and infinities set marks instead, and the result follows from the marks alone.
struct IntegerSums {
  static constexpr uint32_t kPlus = 1, kMinus = 2, kNan = 4;
  static constexpr int kMarks = 8;          // elements per word of marks
  static constexpr int kHalfExponent = 15;  // of half's greatest number
  using ScaledGrad = unsigned long long;
  static constexpr bool kPdlMaximum = true;

  unsigned long long* sums;
  uint32_t* marks;         // four bits per element
  const uint32_t* maxima;  // one per block of Prepare: the greatest |gradient|, as bits
  int blocks;              // of Prepare; 0: `shift` is known
  int bits;
  int shift;
  int* found_shift;     // receives the shift that FindShift computes
  float scale[2] = {};  // their product is 2^shift

  static MLUOP_HOST_DEVICE int Shift(int bits, int exponent) { return 61 - bits - exponent; }

  __device__ void Begin() {
    if (blocks > 0) FindShift();
    // 2^shift may exceed the range of float, its factors do not.
    scale[0] = Power(shift / 2);
    scale[1] = Power(shift - shift / 2);
  }

  static __device__ bool IsRepresentable(float value) { return isfinite(value); }
  __device__ ScaledGrad Convert(float value) const {
    return IsRepresentable(value)
               ? static_cast<ScaledGrad>(__float2ll_rn(value * scale[0] * scale[1]))
               : 0;
  }
  __device__ void Mark(uint32_t at, float value) const {
    const uint32_t mark = isnan(value) ? kNan : value > 0 ? kPlus : kMinus;
    atomicOr(marks + at / kMarks, mark << (at % kMarks * 4));
  }

  __device__ void Add(uint32_t at, const ScaledGrad (&units)[1]) const {
    if (units[0] != 0) atomicAdd(sums + at, units[0]);
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
    uint32_t greatest = 0;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) greatest = max(greatest, maxima[i]);
    greatest = BlockMax(greatest);
    // Denormals have the exponent of the least normal number.
    shift = Shift(bits, max(static_cast<int>(greatest >> 23), 1) - 127);
    if (blockIdx.x == 0 && threadIdx.x == 0) *found_shift = shift;
  }
};

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

// Adds V elements at a time. From the second addition of a block to an element on, sums in shared memory
// and adds that sum at the end: the L2 serialises additions to one sector, 0.6 ns each on an H200.
// Without it, voxels that all have the same points take 6x to 11x the time of random points.
// All threads of the block make one, meet at a barrier, and call End() once after the last Add().
template <class Sums, int V>
class RepeatedSums {
 public:
  __device__ explicit RepeatedSums(const Sums& sums) : sums_(sums) {
    for (int i = threadIdx.x; i < kSlots; i += blockDim.x) Memory().owners[i] = kFree;
    for (int i = threadIdx.x; i < kSlots * V; i += blockDim.x) Memory().sums[i] = 0;
  }

  // `at` is a multiple of V.
  __device__ void Add(uint32_t at, const float (&g)[V]) {
    if (!Sums::IsRepresentable(g[0])) return sums_.Mark(at, g[0]);
    ScaledGrad scaled[V];
#pragma unroll
    for (int i = 0; i < V; ++i) scaled[i] = sums_.Convert(g[i]);
    const uint32_t slot = at / V % kSlots;
    if (atomicCAS(Memory().owners + slot, kFree, at) != at) return sums_.Add(at, scaled);
    repeated_ = true;
#pragma unroll
    for (int i = 0; i < V; ++i) atomicAdd(Memory().sums + slot * V + i, scaled[i]);
  }

  __device__ void End() {
    if (!__syncthreads_or(repeated_)) return;
    for (int slot = threadIdx.x; slot < kSlots; slot += blockDim.x) {
      ScaledGrad sum[V];
      bool any = false;
#pragma unroll
      for (int i = 0; i < V; ++i) {
        sum[i] = Memory().sums[slot * V + i];
        any |= sum[i] != 0;
      }
      if (any) sums_.Add(Memory().owners[slot], sum);
    }
  }

 private:
  using ScaledGrad = typename Sums::ScaledGrad;
  static constexpr int kSlots = 1024 / V;
  static constexpr uint32_t kFree = ~0u;
  struct Table {
    uint32_t owners[kSlots];  // the first elements that use the slots
    ScaledGrad sums[kSlots * V];
  };
  static __device__ Table& Memory() {
    __shared__ Table table;
    return table;
  }

  const Sums& sums_;
  bool repeated_ = false;
};

// Adds the gradients of the maximum. Neighbouring threads have neighbouring channels: if these name the
// same point, their additions reach the L2 together. 16 bytes per thread took 1.1x the time on dense
// voxels.
template <typename T, class Sums>
__global__ void __launch_bounds__(kMaximumThreads)
    AddMaximum(Gradients<T> s, Sums sums, uint32_t elements) {
  const uint32_t first = blockIdx.x * (kMaximumThreads * kElementsInFlight) + threadIdx.x;
  uint32_t row[kElementsInFlight];  // not below points() if it is no point
  float grad[kElementsInFlight][1];
#pragma unroll
  for (int u = 0; u < kElementsInFlight; ++u) {
    const uint32_t at = first + u * kMaximumThreads;
    row[u] = at < elements ? __ldcs(s.argmax + at) : -1;
  }
#pragma unroll
  for (int u = 0; u < kElementsInFlight; ++u) {
    if (row[u] < s.points()) Load(s.grad + first + u * kMaximumThreads, grad[u]);
  }
  RepeatedSums<Sums, 1> repeated(sums);
  if constexpr (Sums::kPdlMaximum) {
    WaitForPredecessor();
    TriggerDependents();
  }
  sums.Begin();
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kElementsInFlight; ++u) {
    const uint32_t channels = s.p.channels, channel = (first + u * kMaximumThreads) % channels;
    if (row[u] < s.points()) repeated.Add(row[u] * channels + channel, grad[u]);
  }
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
    Load(grad + i * 4, four);
#pragma unroll
    for (int k = 0; k < 4; ++k) greatest = max(greatest, FiniteBits(four[k]));
  }
  for (int64_t i = loads * 4 + first; i < count; i += step) {
    greatest = max(greatest, FiniteBits(grad[i]));
  }
  greatest = BlockMax(greatest);
  if (threadIdx.x == 0) maxima[blockIdx.x] = greatest;
}

// Replaces cudaMemsetAsync: the next kernel may start before it ends.
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
__global__ void __launch_bounds__(kThreads)
    RoundIntegers(IntegerSums sums, uint32_t count, T* grad_in) {
  WaitForPredecessor();
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const int shift = sums.blocks > 0 ? *sums.found_shift : sums.shift;
  sums.Round(i, __longlong_as_double(static_cast<long long>(1023 - shift) << 52), grad_in + i);
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
