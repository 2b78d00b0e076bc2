// SPDX-License-Identifier: Apache-2.0
// Between the map's order of channels, [pixel][c][bin], and the one in which a bin can be summed
// with vectors, [pixel][bin][c]. Included once per instruction set, as Highway wants it.

#if defined(MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
#undef MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/transpose-inl.h"
#include "ops/psroipool/band.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::Transpose;

// Calls for the slice's part of the map's next pixel: the hardware does not guess what follows
// (regrouping [1,38,63,3969] takes 3.5 instead of 5.3 ms).
HWY_INLINE void PrefetchPixel(const float* next, int64_t floats) {
  for (int64_t i = 0; i < floats; i += 16) hwy::Prefetch(next + i);
}

// The band's rows of the map.
HWY_INLINE void RegroupRows(const Problem& p, const float* input, const Band& band, float* data) {
  const Slice& slice = band.slice;
  const float* first = input + p.Channel(slice.first_bin, slice.first_channel);
  for (int64_t row = band.first_row; row < band.last_row; ++row) {
    const float* pixel = first + row * p.w * p.channels();
    float* place = data + (row - band.first_row) * band.row_stride;
    for (int64_t w = 0; w < p.w; ++w, pixel += p.channels(), place += band.pixel_stride) {
      if (w + 1 < p.w) PrefetchPixel(pixel + p.channels(), slice.channels * p.bins());
      Transpose({pixel, p.bins()}, slice.channels, slice.bins(), {place, band.bin_stride});
    }
  }
}

// The way back.
HWY_INLINE void UngroupRows(const Problem& p, const float* data, const Band& band, float* output) {
  const Slice& slice = band.slice;
  float* first = output + p.Channel(slice.first_bin, slice.first_channel);
  for (int64_t row = band.first_row; row < band.last_row; ++row) {
    float* pixel = first + row * p.w * p.channels();
    const float* place = data + (row - band.first_row) * band.row_stride;
    for (int64_t w = 0; w < p.w; ++w, pixel += p.channels(), place += band.pixel_stride) {
      if (w + 1 < p.w) PrefetchPixel(pixel + p.channels(), slice.channels * p.bins());
      Transpose({place, band.bin_stride}, slice.bins(), slice.channels, {pixel, p.bins()});
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
