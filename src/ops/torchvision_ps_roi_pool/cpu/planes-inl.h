// SPDX-License-Identifier: Apache-2.0
// Repacks between planes and pixels, and loops over the columns of a bin. Included once per instruction
// set, as Highway requires.

#if defined(MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_PLANES_INL_H_
#undef MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_PLANES_INL_H_
#else
#define MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_PLANES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/transpose-inl.h"
#include "cpu/vectors.h"
#include "ops/roi/cpu/channel_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::Transpose;
using roi::HWY_NAMESPACE::CanonicalNan;
using roi::HWY_NAMESPACE::ForEachChannelBlock;

// Vectors of a channel block: all of COCO's 81 channels with AVX-512. A pass per vector would pay for
// the mispredicted ends of every bin each time.
inline constexpr int kBlockVectors = 6;

// Calls body(c, n) for blocks of n <= 16 channels from c on that cover all; the last one may overlap
// its predecessor. A block's planes are followed to their ends: all planes at once are too many pages
// (3x the time backward on 3969x38x63).
template <class Body>
HWY_INLINE void ForEachPlaneBlock(int64_t channels, const Body& body) {
  const int64_t n = std::min<int64_t>(channels, 16);
  for (int64_t c = 0; c < channels; c += n) body(std::min(c, channels - n), n);
}

// pixels[i*pixel_stride + c] = planes[c*plane_stride + i] for i in [0, count) and c in [0, channels).
// Fills up to whole vectors with zeros: denormal leftovers would be slow to add.
HWY_INLINE void PlanesToPixels(const float* planes, int64_t plane_stride, int64_t count,
                               int64_t channels, float* pixels, int64_t pixel_stride) {
  ForEachPlaneBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    Transpose({planes + c * plane_stride, plane_stride}, n, count, {pixels + c, pixel_stride});
  });
  const int64_t rest = WholeVectors(channels) - channels;
  if (rest == 0) return;
  for (int64_t i = 0; i < count; ++i) std::fill_n(pixels + i * pixel_stride + channels, rest, 0.0f);
}

// The inverse; every NaN becomes the default one.
HWY_INLINE void PixelsToPlanes(const float* pixels, int64_t pixel_stride, int64_t count,
                               int64_t channels, float* planes, int64_t plane_stride) {
  ForEachPlaneBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    Transpose({pixels + c, pixel_stride}, count, n, {planes + c * plane_stride, plane_stride},
              CanonicalNan());
  });
}

// Calls body(columns), with a constant where a row of a bin is short and blocks have few vectors: the
// loop over a row then has no end to predict.
template <int kVectors, class Body>
HWY_INLINE void WithColumns(int64_t columns, const Body& body) {
  if (kVectors > 2) return body(columns);
  switch (columns) {
    case 1: return body(std::integral_constant<int64_t, 1>());
    case 2: return body(std::integral_constant<int64_t, 2>());
    case 3: return body(std::integral_constant<int64_t, 3>());
    case 4: return body(std::integral_constant<int64_t, 4>());
    default: return body(columns);
  }
}

// The rows of a bin that lie in a band, from a block's first channel on.
template <typename T>
struct BinTile {
  T* corner;
  int64_t rows, columns;
  int64_t row_stride, column_stride;

  // Calls body(pixel) for every pixel, row by row.
  template <int kVectors, class Body>
  HWY_INLINE void ForEachPixel(const Body& body) const {
    WithColumns<kVectors>(columns, [&](auto count) HWY_ATTR {
      T* row = corner;
      for (int64_t h = 0; h < rows; ++h, row += row_stride) {
        T* pixel = row;
        for (int64_t w = 0; w < count; ++w, pixel += column_stride) body(pixel);
      }
    });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_TORCHVISION_PS_ROI_POOL_CPU_PLANES_INL_H_
