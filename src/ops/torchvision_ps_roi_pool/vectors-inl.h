// SPDX-License-Identifier: Apache-2.0
// Between planes and pixels, and loops over the channels of a pixel. Included once per instruction
// set, as Highway wants it.

#if defined(MLUOP_OPS_TORCHVISION_PS_ROI_POOL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_VECTORS_INL_H_
#undef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_VECTORS_INL_H_
#else
#define MLUOP_OPS_TORCHVISION_PS_ROI_POOL_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::TransposeTile4;

// Calls tile(i, c) for tiles of 4 x 4 that cover [0, count) x [0, channels); the last one of a row
// overlaps the one before. Sixteen channels at a time, so that the cache lines of pixels are whole.
template <class Tile>
HWY_INLINE void ForEachTile(int64_t count, int64_t channels, const Tile& tile) {
  for (int64_t block = 0; block < channels; block += 16) {
    const int64_t end = std::min(block + 16, channels);
    for (int64_t i = 0; i < count; i += 4) {
      for (int64_t c = block; c < end; c += 4) tile(std::min(i, count - 4), c);
    }
  }
}

// pixels[i*pixel_stride + c] = planes[c*plane_stride + i] for i in [0, count) and c in [0,
// channels). Behind them zeros up to whole vectors: leftovers in a sum could be slow to add.
HWY_INLINE void PlanesToPixels(const float* HWY_RESTRICT planes, int64_t plane_stride,
                               int64_t count, int64_t channels, float* HWY_RESTRICT pixels,
                               int64_t pixel_stride) {
  const int64_t padded = WholeVectors(channels);
  if (count < 4) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < padded; ++c) {
        pixels[i * pixel_stride + c] = c < channels ? planes[c * plane_stride + i] : 0.0f;
      }
    }
    return;
  }
  ForEachTile(count, padded, [&](int64_t i, int64_t c) HWY_ATTR {
    float* to = pixels + i * pixel_stride + c;
    if (c + 4 <= channels) {
      TransposeTile4(planes + c * plane_stride + i, plane_stride, to, pixel_stride);
      return;
    }
    float rest[16] = {};
    for (int64_t k = c; k < channels; ++k) {
      std::copy_n(planes + k * plane_stride + i, 4, rest + 4 * (k - c));
    }
    TransposeTile4(rest, 4, to, pixel_stride);
  });
}

// The way back.
HWY_INLINE void PixelsToPlanes(const float* HWY_RESTRICT pixels, int64_t pixel_stride,
                               int64_t count, int64_t channels, float* HWY_RESTRICT planes,
                               int64_t plane_stride) {
  if (count < 4) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < count; ++i)
        planes[c * plane_stride + i] = pixels[i * pixel_stride + c];
    }
    return;
  }
  ForEachTile(count, channels, [&](int64_t i, int64_t c) HWY_ATTR {
    const float* from = pixels + i * pixel_stride + c;
    if (c + 4 <= channels) {
      TransposeTile4(from, pixel_stride, planes + c * plane_stride + i, plane_stride);
      return;
    }
    float rest[16];
    TransposeTile4(from, pixel_stride, rest, 4);
    for (int64_t k = c; k < channels; ++k) {
      std::copy_n(rest + 4 * (k - c), 4, planes + k * plane_stride + i);
    }
  });
}

template <int kCount>
using Vectors = std::integral_constant<int, kCount>;

// Calls body(d, Vectors<k>) with the shortest vectors of which k hold all channels; k = 0 stands
// for any number.
template <class Body>
HWY_INLINE void WithVectors(int64_t channels, const Body& body) {
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 8> eight;
  const hn::CappedTag<float, 16> whole;
  const auto fits = [&](auto d, int64_t vectors) HWY_ATTR {
    return channels <= vectors * static_cast<int64_t>(hn::Lanes(d));
  };
  if (fits(four, 1)) return body(four, Vectors<1>());
  if (fits(eight, 1)) return body(eight, Vectors<1>());
  if (fits(whole, 1)) return body(whole, Vectors<1>());
  if (fits(whole, 2)) return body(whole, Vectors<2>());
  body(whole, Vectors<0>());
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

#endif  // MLUOP_OPS_TORCHVISION_PS_ROI_POOL_VECTORS_INL_H_
