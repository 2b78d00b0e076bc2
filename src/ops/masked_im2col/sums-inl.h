// SPDX-License-Identifier: Apache-2.0
// Between halves and sums in float: loads that widen, and the way of a band's sums to their planes.
// Included once per instruction set.

#if defined(MLUOP_MASKED_IM2COL_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_MASKED_IM2COL_SUMS_INL_H_
#undef MLUOP_MASKED_IM2COL_SUMS_INL_H_
#else
#define MLUOP_MASKED_IM2COL_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "ops/masked_im2col/calls.h"
#include "ops/masked_im2col/rows-inl.h"

// Below AVX2 Highway's conversions of halves round towards zero and lose infinities.
#undef MLUOP_CONVERTS_HALF
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
#define MLUOP_CONVERTS_HALF 1
#else
#define MLUOP_CONVERTS_HALF 0
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = BackwardCall<float>::kLanes;
// Pixels that are transposed, and rounded, at once.
constexpr int64_t kChunk = 256;

HWY_INLINE float Value(float element) { return element; }
HWY_INLINE float Value(uint16_t element) { return ToFloat(Half{element}); }

// Rounds to nearest even.
HWY_INLINE void RoundRow(const float* from, int64_t n, uint16_t* to) {
#if MLUOP_CONVERTS_HALF
  mluop::HWY_NAMESPACE::ForEach<float>(n, [&](auto d, int64_t i) {
    const hn::Rebind<uint16_t, decltype(d)> bits;
    const hn::Rebind<hwy::float16_t, decltype(d)> halves;
    hn::StoreU(hn::BitCast(bits, hn::DemoteTo(halves, hn::LoadU(d, from + i))), bits, to + i);
  });
#else
  for (int64_t i = 0; i < n; ++i) to[i] = ToHalf(from[i]).bits;
#endif
}

// One row of sums to one plane.
HWY_INLINE void WriteSums(const float* sums, int64_t n, float* to, bool stream) {
  WriteRow(sums, n, to, stream);
}
HWY_INLINE void WriteSums(const float* sums, int64_t n, uint16_t* to, bool stream) {
  if (!stream) return RoundRow(sums, n, to);
  alignas(kAlignment) uint16_t rounded[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    RoundRow(sums + i, count, rounded);
    WriteRow(rounded, count, to + i, true);
  }
}

#if HWY_TARGET != HWY_SCALAR

using Lanes = hn::CappedTag<float, kLanes>;
using FourLanes = hn::FixedTag<float, 4>;

HWY_INLINE hn::Vec<FourLanes> LoadFour(const float* from) { return hn::LoadU(FourLanes(), from); }
HWY_INLINE hn::Vec<FourLanes> LoadFour(const uint16_t* from) {
#if MLUOP_CONVERTS_HALF
  const hn::Rebind<uint16_t, FourLanes> bits;
  const hn::Rebind<hwy::float16_t, FourLanes> halves;
  return hn::PromoteTo(FourLanes(), hn::BitCast(halves, hn::LoadU(bits, from)));
#else
  alignas(16)
      const float values[4] = {Value(from[0]), Value(from[1]), Value(from[2]), Value(from[3])};
  return hn::Load(FourLanes(), values);
#endif
}

// to[k*stride + pixel] = sums[pixel][k], for a multiple of eight pixels and all lanes.
HWY_INLINE void TransposeSums(const float* sums, int64_t pixels, float* to, int64_t stride) {
  const Lanes d;
  for (int64_t pixel = 0; pixel < pixels; pixel += static_cast<int64_t>(hn::Lanes(d))) {
    for (int64_t lane = 0; lane < kLanes; lane += 4) {
      const float* from = sums + pixel * kLanes + lane;
      const auto row = [&](int r) {
        return LoadBlocks(d, [&](int b) { return from + (r + 4 * b) * kLanes; });
      };
      float* out = to + lane * stride + pixel;
      Transpose4<4>(d, row, [&](int k, auto v) { hn::StoreU(v, d, out + k * stride); });
    }
  }
}

// A band of [pixel][lane] sums to its planes.
template <typename T>
void WriteLanes(const BackwardCall<T>& call, const Band& band) {
  alignas(kAlignment) float stage[kLanes * kChunk];
  const int64_t plane = call.p.plane();
  T* out = call.grad_feature + band.channel * plane;
  int64_t begin = band.begin;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (band.skip == 0 && !call.stream) {  // straight to where they belong
      const int64_t whole = band.pixels() / 8 * 8;
      TransposeSums(band.sums, whole, out + begin, plane);
      begin += whole;
    }
  }
  for (; begin < band.end; begin += kChunk) {
    const int64_t count = std::min(kChunk, band.end - begin);
    TransposeSums(band.sums + (begin - band.begin) * kLanes, (count + 7) / 8 * 8, stage, kChunk);
    for (int64_t k = band.skip; k < kLanes; ++k) {
      WriteSums(stage + k * kChunk, count, out + k * plane + begin, call.stream);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_MASKED_IM2COL_SUMS_INL_H_
