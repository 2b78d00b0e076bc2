// SPDX-License-Identifier: Apache-2.0
// Between halves and sums in float: loads that widen, and the way of a band's sums to their planes.
// Included once per instruction set.

#if defined(MLUOP_OPS_MASKED_IM2COL_CPU_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_MASKED_IM2COL_CPU_SUMS_INL_H_
#undef MLUOP_OPS_MASKED_IM2COL_CPU_SUMS_INL_H_
#else
#define MLUOP_OPS_MASKED_IM2COL_CPU_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "ops/masked_im2col/cpu/calls.h"
#include "ops/masked_im2col/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = BackwardCall<float>::kLanes;
// Pixels that are transposed, and rounded, at once.
constexpr int64_t kChunk = 256;

// What rows are made of: Half is no lane of a vector.
HWY_INLINE float* Elements(float* row) { return row; }
HWY_INLINE uint16_t* Elements(Half* row) { return &row->bits; }

// Rounds to nearest even.
HWY_INLINE void RoundRow(const float* from, int64_t n, Half* to) {
  mluop::HWY_NAMESPACE::ForEach<float>(n, [&](auto d, int64_t i) {
    mluop::HWY_NAMESPACE::StoreFloats(hn::LoadU(d, from + i), d, to + i);
  });
}

// One row of sums to one plane.
HWY_INLINE void WriteSums(const float* sums, int64_t n, float* to, bool stream) {
  WriteRow(sums, n, to, stream);
}
HWY_INLINE void WriteSums(const float* sums, int64_t n, Half* to, bool stream) {
  if (!stream) return RoundRow(sums, n, to);
  alignas(kAlignment) Half rounded[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    RoundRow(sums + i, count, rounded);
    WriteRow(Elements(rounded), count, Elements(to + i), true);
  }
}

#if HWY_TARGET != HWY_SCALAR

using Lanes = hn::CappedTag<float, kLanes>;
using FourLanes = hn::FixedTag<float, 4>;

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

#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_SUMS_INL_H_
