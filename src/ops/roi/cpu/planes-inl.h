// SPDX-License-Identifier: Apache-2.0
// Repacks between planes and pixels, and loops over the columns of a bin. Included once per instruction
// set, hence without a guard.

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/transpose-inl.h"
#include "ops/roi/cpu/repack.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi::HWY_NAMESPACE {

namespace simd = mluop::HWY_NAMESPACE;

// Calls body(c, n) for blocks of n <= 16 channels from c on that cover all; the last one may overlap
// its predecessor. Processes 16 planes to the end before the next 16: all planes at once exceed the
// TLB (3x the time backward on 3969x38x63).
template <class Body>
HWY_INLINE void ForEachPlaneBlock(int64_t channels, const Body& body) {
  const int64_t n = std::min<int64_t>(channels, 16);
  for (int64_t c = 0; c < channels; c += n) body(std::min(c, channels - n), n);
}

// pixels[i*pixel_stride + c] = planes[c*plane_stride + i] for i in [0, count) and c in [0, channels).
// Fills up to whole vectors with zeros: stale denormals in the padding would slow down the
// additions.
HWY_INLINE void PlanesToPixels(const float* planes, int64_t plane_stride, int64_t count,
                               int64_t channels, float* pixels, int64_t pixel_stride) {
  ForEachPlaneBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    simd::Transpose({planes + c * plane_stride, plane_stride}, n, count,
                    {pixels + c, pixel_stride});
  });
  const int64_t rest = WholeVectors(channels) - channels;
  if (rest == 0) return;
  for (int64_t i = 0; i < count; ++i) std::fill_n(pixels + i * pixel_stride + channels, rest, 0.0f);
}

// The inverse: planes[c*plane_stride + i] = convert(pixels[i*pixel_stride + c]).
template <class Convert>
HWY_INLINE void PixelsToPlanes(const simd::ConstMatrix& pixels, int64_t count, int64_t channels,
                               const simd::Matrix& planes, const Convert& convert) {
  ForEachPlaneBlock(channels, [&](int64_t c, int64_t n) HWY_ATTR {
    simd::Transpose({pixels.data + c, pixels.stride}, count, n,
                    {planes.data + c * planes.stride, planes.stride}, convert);
  });
}

// The rows of a bin that lie in a band, from a block's first channel on.
template <typename T>
struct BinTile {
  T* corner;
  int64_t rows_before;  // of the bin, in earlier bands
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  float* stage;    // of the bin
  int64_t totals;  // distance of its total
  int64_t area;    // of the whole bin
  bool ends_bin;
};

// Vectors of a channel block: all of COCO's 81 channels with AVX-512. One pass per vector would
// mispredict the loop end of every bin once per vector.
inline constexpr int kBlockVectors = 6;

// Returns body(columns). Passes a compile-time constant for short rows and blocks of few vectors,
// so that the loop over a row is unrolled.
template <int kVectors, class Body>
HWY_INLINE auto WithColumns(int64_t columns, const Body& body) {
  if constexpr (kVectors <= 2) {
    switch (columns) {
      case 1: return body(std::integral_constant<int64_t, 1>());
      case 2: return body(std::integral_constant<int64_t, 2>());
      case 3: return body(std::integral_constant<int64_t, 3>());
      case 4: return body(std::integral_constant<int64_t, 4>());
      default: break;
    }
  }
  return body(columns);
}

}  // namespace mluop::roi::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
