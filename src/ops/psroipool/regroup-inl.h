// SPDX-License-Identifier: Apache-2.0
// Between the map's order of channels, [pixel][c][bin], and the one in which a bin can be summed with
// vectors, [bin][pixel][c]. Included once per instruction set, as Highway wants it.

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

#include "core/simd-inl.h"
#include "ops/psroipool/band.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::TransposeTile4;

// As ForEach, but a rest of 8 or 4 elements is a short vector: output_dim is often less than a long one.
template <class Body>
HWY_INLINE void ForEachPart(int64_t n, const Body& body) {
  int64_t i = 0;
  const auto loop = [&](auto d) HWY_ATTR {
    const auto step = static_cast<int64_t>(hn::Lanes(d));
    for (; i + step <= n; i += step) body(d, i);
  };
  loop(hn::ScalableTag<float>());
  loop(hn::CappedTag<float, 8>());
  loop(hn::CappedTag<float, 4>());
  loop(hn::CappedTag<float, 1>());
}

// Calls tile(bin, c, rows) for tiles of 4 bins x 4 channels that cover all bins and the channels [0, n).
// The last tile of bins overlaps the one before; only `rows` channels of the last tile of channels exist.
template <class Tile>
HWY_INLINE void ForEachTile(int64_t bins, int64_t n, const Tile& tile) {
  for (int64_t bin = 0; bin < bins; bin += 4) {
    const int64_t first = std::min(bin, bins - 4);
    int64_t c = 0;
    for (; c + 4 <= n; c += 4) tile(first, c, int64_t{4});
    if (c < n) tile(first, c, n - c);
  }
}

// One pixel of the map, all channels of it, to `to`, its place in bin 0 of the band. The next pixel is called for
// meanwhile: the steps of bins*4 bytes are too long for the hardware to guess (8.6 against 10.5 ms on
// [1,38,63,3969]). A tile is as many elements as a line.
HWY_INLINE void RegroupPixel(const float* HWY_RESTRICT from, const float* next, int64_t bins,
                             const Band& band, float* HWY_RESTRICT to) {
  const float* const next_end = next + bins * band.channels;
  ForEachTile(bins, band.channels, [&](int64_t bin, int64_t c, int64_t rows) HWY_ATTR {
    if (next < next_end) hwy::Prefetch(next);
    next += 16;
    float* corner = to + bin * band.bin_stride + c;
    if (rows == 4) {
      TransposeTile4(from + c * bins + bin, bins, corner, band.bin_stride);
      return;
    }
    float rest[16] = {};
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + (c + i) * bins + bin, 4, rest + 4 * i);
    TransposeTile4(rest, 4, corner, band.bin_stride);
  });
}

// The way back.
HWY_INLINE void UngroupPixel(const float* HWY_RESTRICT from, int64_t bins, const Band& band,
                             float* HWY_RESTRICT to) {
  ForEachTile(bins, band.channels, [&](int64_t bin, int64_t c, int64_t rows) HWY_ATTR {
    const float* corner = from + bin * band.bin_stride + c;
    if (rows == 4) {
      TransposeTile4(corner, band.bin_stride, to + c * bins + bin, bins);
      return;
    }
    float rest[16];
    TransposeTile4(corner, band.bin_stride, rest, 4);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(rest + 4 * i, 4, to + (c + i) * bins + bin);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
