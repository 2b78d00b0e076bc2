// SPDX-License-Identifier: Apache-2.0
// Between the map's order of channels, [pixel][c][bin], and the one in which a bin can be summed
// with vectors, [pixel][bin][c]. Included once per instruction set, as Highway wants it.

#if defined(MLUOP_OPS_PSROIPOOL_CPU_REGROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_CPU_REGROUP_INL_H_
#undef MLUOP_OPS_PSROIPOOL_CPU_REGROUP_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_CPU_REGROUP_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/transpose-inl.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/reach-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::LoadTransposed;
using mluop::HWY_NAMESPACE::Source;
using mluop::HWY_NAMESPACE::Transpose;
using mluop::HWY_NAMESPACE::WithSide;

// Calls for the slice's part of the map's next pixel: the hardware does not guess what follows
// (regrouping all of [1,38,63,3969] takes 3.5 instead of 5.3 ms on one thread).
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

// A tile of the map to the places of its bins, and a call for the same tile of the next pixel.
template <int kSide>
HWY_INLINE void RegroupTile(const Source& from, const float* next, const int64_t* places,
                            float* to) {
  const hn::FixedTag<float, kSide> d;
  hn::Vec<decltype(d)> v[kSide];
  if (next != nullptr) {
    for (int k = 0; k < kSide; ++k) hwy::Prefetch(next + k * from.stride);
  }
  LoadTransposed<kSide>(from, v);
  for (int k = 0; k < kSide; ++k) hn::StoreU(v[k], d, to + places[k]);
}

// A pixel, but for the tiles of bins that no roi reads there.
template <int kSide>
HWY_INLINE void RegroupPixel(const Problem& p, const Slice& slice, const float* pixel, int64_t w,
                             const Reach& reach, float* data) {
  constexpr int64_t kLine = 16;
  const int64_t bins = slice.bins();
  for (int64_t channel = 0; channel < slice.channels; channel += kSide) {
    const int64_t c = std::min(channel, slice.channels - kSide);
    for (int64_t tile = 0; tile * kSide < bins; ++tile) {
      if (!reach.Wants(tile, w)) continue;
      const int64_t b = std::min(tile * kSide, bins - kSide);
      const float* from = pixel + c * p.bins() + b;
      // Once per line; those of the last tile, which overlaps, were called for with the one before.
      const float* next = b % kLine == 0 && w + 1 < p.w ? from + p.channels() : nullptr;
      RegroupTile<kSide>({from, p.bins()}, next, reach.Places(b), data + c);
    }
  }
}

// The band's rows of the map, but for what no roi reads.
HWY_INLINE void RegroupReach(const Pooling& pooling, const Band& band, Reach& reach, float* data) {
  const Problem& p = pooling.p;
  const Slice& slice = band.slice;
  const float* first = pooling.input + p.Channel(slice.first_bin, slice.first_channel);
  WithSide(std::min(slice.channels, slice.bins()), [&](auto side) HWY_ATTR {
    if constexpr (side.value == 1) {
      RegroupRows(p, pooling.input, band, data);
    } else {
      reach.Find(pooling, band, side.value);
      for (int64_t row = band.first_row; row < band.last_row; ++row) {
        for (int64_t w = reach.columns().begin; w < reach.columns().end; ++w) {
          const float* pixel = first + (row * p.w + w) * p.channels();
          reach.Place(band, row, w);
          RegroupPixel<side.value>(p, slice, pixel, w, reach, data);
        }
      }
    }
  });
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

#endif  // MLUOP_OPS_PSROIPOOL_CPU_REGROUP_INL_H_
