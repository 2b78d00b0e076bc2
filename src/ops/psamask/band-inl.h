// SPDX-License-Identifier: Apache-2.0
// Bands of a matrix, transposed. Included once per instruction set.

#if defined(MLUOP_PSAMASK_BAND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PSAMASK_BAND_INL_H_
#undef MLUOP_PSAMASK_BAND_INL_H_
#else
#define MLUOP_PSAMASK_BAND_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "core/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

// to[a*to_stride + b] = from[b*from_stride + a] for a in [begin, end) and b in the band of a, whose
// ends both grow with a, or both fall.
template <class BandBegin, class BandEnd>
HWY_INLINE void TransposeBand(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                              int64_t begin, int64_t end, BandBegin band_begin, BandEnd band_end) {
  for (int64_t a = begin; a < end; a += 4) {
    const int64_t rows = std::min<int64_t>(4, end - a);
    int64_t whole = 0;      // b in [whole, whole_end) is inside the band of all four rows,
    int64_t whole_end = 0;  // in tiles of four
    if (rows == 4) {
      whole = std::max<int64_t>(band_begin(a), band_begin(a + 3));
      const int64_t last = std::min<int64_t>(band_end(a), band_end(a + 3));
      whole_end = whole + std::max<int64_t>(0, last - whole) / 4 * 4;
    }
    for (int64_t b = whole; b < whole_end; b += 4) {
      mluop::HWY_NAMESPACE::TransposeTile4(from + b * from_stride + a, from_stride,
                                           to + a * to_stride + b, to_stride);
    }
    for (int64_t row = a; row < a + rows; ++row) {
      const auto copy = [&](int64_t b) { to[row * to_stride + b] = from[b * from_stride + row]; };
      const int64_t last = band_end(row);
      const int64_t tiles = std::min(std::max(whole, band_begin(row)), last);
      for (int64_t b = band_begin(row); b < tiles; ++b) copy(b);
      for (int64_t b = std::max(tiles, whole_end); b < last; ++b) copy(b);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_PSAMASK_BAND_INL_H_
