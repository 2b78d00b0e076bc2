// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on CUDA devices: the sums of the points that both methods add to.
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
#include "cuda/ptx.h"
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
  static __device__ void AddShared(float* sum, float value) { atomicAdd(sum, value); }
};

struct FloatSums : FloatConversion {
  static constexpr bool kPdlMaximum = false;  // true: 1.04x the time

  float* sums;

  explicit FloatSums(float* memory) : sums(memory) {}

  __device__ void Add(uint32_t at, const float (&g)[1]) const { atomicAdd(sums + at, g[0]); }

  // `at` is a multiple of 4, and sums + at is aligned to 16 bytes.
  __device__ void Add(uint32_t at, const float (&g)[4]) const { AtomicAddFour(sums + at, g); }
};

// Half sums, rounded at each addition: for few additions to an element.
struct PackedSums : FloatConversion {
  static constexpr bool kPdlMaximum = true;

  __half* sums;  // aligned to 4 bytes, whole pairs

  explicit PackedSums(__half* memory) : sums(memory) {}

  // Adds a pair: a single half would be a loop of compare and swap. -0 is the additive identity.
  __device__ void Add(uint32_t at, const float (&g)[1]) const {
    const __half value = __float2half_rn(g[0]), none = __float2half_rn(-0.0f);
    const bool is_first = at % 2 == 0;
    AtomicAddTwo(sums + (at & ~1u), is_first ? value : none, is_first ? none : value);
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

  // As two native atomics: 64-bit atomics in shared memory are loops of compare and swap.
  static __device__ void AddShared(ScaledGrad* sum, ScaledGrad units) {
    auto* words = reinterpret_cast<uint32_t*>(sum);
    const auto low = static_cast<uint32_t>(units);
    const uint32_t carry = atomicAdd(words, low) > ~low ? 1 : 0;
    atomicAdd(words + 1, static_cast<uint32_t>(units >> 32) + carry);
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

// Converts V gradients for the elements from `at` on. Returns false if there is nothing to add.
template <class Sums, int V>
__device__ bool ConvertGrads(const Sums& sums, uint32_t at, const float (&grad)[V],
                             typename Sums::ScaledGrad (&scaled)[V]) {
#pragma unroll
  for (int i = 0; i < V; ++i) scaled[i] = sums.Convert(grad[i]);
  if (Sums::IsRepresentable(grad[0])) return true;
  sums.Mark(at, grad[0]);
  return false;
}

// Adds V elements at a time, and sums repeated additions of a block to an element in shared memory.
// The L2 serialises additions to one sector, 0.6 ns each on an H200. Without it, voxels that all
// have the same points take 6x to 11x the time of random points. kFirstDirect: an element's first
// addition does not use shared memory, so that blocks without repeated elements have nothing to add
// at the end. All threads of the block make one, meet at a barrier, and call End() once after the
// last Add().
template <class Sums, int V, bool kFirstDirect>
class RepeatedSums {
 public:
  __device__ explicit RepeatedSums(const Sums& sums) : sums_(sums) {
    for (int i = threadIdx.x; i < kSlots; i += blockDim.x) Memory().owners[i] = kFree;
    for (int i = threadIdx.x; i < kSlots * V; i += blockDim.x) Memory().sums[i] = 0;
  }

  // `at` is a multiple of V.
  __device__ void Add(uint32_t at, const float (&grad)[V]) {
    ScaledGrad scaled[V];
    if (!ConvertGrads(sums_, at, grad, scaled)) return;
    const uint32_t slot = at / V % kSlots;
    const uint32_t owner = atomicCAS(Memory().owners + slot, kFree, at);
    if (owner != at && (kFirstDirect || owner != kFree)) return sums_.Add(at, scaled);
    repeated_ = true;
#pragma unroll
    for (int i = 0; i < V; ++i) Sums::AddShared(Memory().sums + slot * V + i, scaled[i]);
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

}  // namespace
}  // namespace mluop::roiaware_pool3d
