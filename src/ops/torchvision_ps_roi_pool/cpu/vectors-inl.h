// SPDX-License-Identifier: Apache-2.0
// Between planes and pixels, and loops over the channels of a pixel. Included once per instruction
// set, as Highway wants it.

#if defined(MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_VECTORS_INL_H_
#undef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_VECTORS_INL_H_
#else
#define MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/simd-inl.h"
#include "cpu/transpose-inl.h"
#include "cpu/vectors-inl.h"
#include "cpu/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::Transpose;
using mluop::HWY_NAMESPACE::Vectors;
using mluop::HWY_NAMESPACE::WithVectors;

// Calls body(c, n) for blocks of n <= 16 channels from c on that cover all; the last one may overlap
// the one before. A block's planes are followed to their ends before the next one's: all at once are
// too many pages (3x slower backward on [1,3969,38,63]).
template <class Body>
HWY_INLINE void ForEachBlock(int64_t channels, const Body& body) {
  const int64_t n = std::min<int64_t>(channels, 16);
  for (int64_t c = 0; c < channels; c += n) body(std::min(c, channels - n), n);
}

// pixels[i*pixel_stride + c] = planes[c*plane_stride + i] for i in [0, count) and c in [0,
// channels). Behind them zeros up to whole vectors: leftovers in a sum could be slow to add.
HWY_INLINE void PlanesToPixels(const float* planes, int64_t plane_stride, int64_t count,
                               int64_t channels, float* pixels, int64_t pixel_stride) {
  ForEachBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    Transpose({planes + c * plane_stride, plane_stride}, n, count, {pixels + c, pixel_stride});
  });
  const int64_t rest = WholeVectors(channels) - channels;
  if (rest == 0) return;
  for (int64_t i = 0; i < count; ++i) std::fill_n(pixels + i * pixel_stride + channels, rest, 0.0f);
}

// The way back.
HWY_INLINE void PixelsToPlanes(const float* pixels, int64_t pixel_stride, int64_t count,
                               int64_t channels, float* planes, int64_t plane_stride) {
  ForEachBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    Transpose({pixels + c, pixel_stride}, count, n, {planes + c * plane_stride, plane_stride});
  });
}

// Calls body(Vectors<k>, c) for groups of k <= 6 vectors from channel c on, which hold all
// channels. Every bin has other trip counts, which the processor guesses wrong: a pass over the
// pixels per vector would pay for that each time.
template <int kCount, class D, class Body>
HWY_INLINE void ForEachGroup(D d, Vectors<kCount> all, int64_t channels, const Body& body) {
  if constexpr (kCount > 0) return body(all, int64_t{0});
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 5 * lanes < channels; c += 6 * lanes) body(Vectors<6>(), c);
  for (; c + 2 * lanes < channels; c += 3 * lanes) body(Vectors<3>(), c);
  for (; c < channels; c += lanes) body(Vectors<1>(), c);
}

// Calls body(columns), with a constant where a row of a bin is short, as most are, and kCount vectors
// do not outweigh it: the loop over the row has no end to guess.
template <int kCount, class Body>
HWY_INLINE void WithColumns(int64_t columns, const Body& body) {
  if (kCount > 2) return body(columns);
  switch (columns) {
    case 1: return body(std::integral_constant<int64_t, 1>());
    case 2: return body(std::integral_constant<int64_t, 2>());
    case 3: return body(std::integral_constant<int64_t, 3>());
    case 4: return body(std::integral_constant<int64_t, 4>());
    default: return body(columns);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_VECTORS_INL_H_
