// SPDX-License-Identifier: Apache-2.0
// Between the map's order of channels, [pixel][c][bin], and the one in which a bin can be summed
// with vectors, [bin][pixel][c]. Included once per instruction set, as Highway wants it.

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
using mluop::HWY_NAMESPACE::CopyRow;
using mluop::HWY_NAMESPACE::TransposeTile4;

// Calls tile(bin, c, rows) for tiles of 4 bins x 4 channels that cover all bins and the channels
// [0, n). The last tile of bins overlaps the one before; only `rows` channels of the last tile of
// channels exist. Meanwhile the map's next pixel, at `next`, is called for, a line with each tile:
// rows of `bins` floats are too short for the hardware to guess what follows (5.1 against 6.0 ms
// for the map [1,38,63,3969], 5.0 against 7.3 ms for the way back).
template <class Tile>
HWY_INLINE void ForEachTile(int64_t bins, int64_t n, const float* next, const Tile& tile) {
  int64_t line = 0;
  const auto row_of_tiles = [&](int64_t c, int64_t rows) HWY_ATTR {
    for (int64_t bin = 0; bin < bins; bin += 4) {
      if (line < bins * n) hwy::Prefetch(next + line);
      line += 16;
      tile(std::min(bin, bins - 4), c, rows);
    }
  };
  int64_t c = 0;
  for (; c + 4 <= n; c += 4) row_of_tiles(c, 4);
  if (c < n) row_of_tiles(c, n - c);
}

// One pixel of the map to its place in bin 0 of the band, which has all the channels.
HWY_INLINE void RegroupPixel(const float* HWY_RESTRICT pixel, const float* next, int64_t bins,
                             const Band& band, float* HWY_RESTRICT place) {
  if (bins == 1) return CopyRow(pixel, band.channels, place);
  ForEachTile(bins, band.channels, next, [&](int64_t bin, int64_t c, int64_t rows) HWY_ATTR {
    float* to = place + bin * band.bin_stride + c;
    if (rows == 4) {
      TransposeTile4(pixel + c * bins + bin, bins, to, band.bin_stride);
      return;
    }
    float rest[16] = {};
    for (int64_t i = 0; i < rows; ++i) std::copy_n(pixel + (c + i) * bins + bin, 4, rest + 4 * i);
    TransposeTile4(rest, 4, to, band.bin_stride);
  });
}

// The way back, to the band's channels of the pixel, the first of which are at `pixel` and `next`.
HWY_INLINE void UngroupPixel(const float* HWY_RESTRICT place, int64_t bins, const Band& band,
                             float* HWY_RESTRICT pixel, const float* next) {
  if (bins == 1) return CopyRow(place, band.channels, pixel);
  ForEachTile(bins, band.channels, next, [&](int64_t bin, int64_t c, int64_t rows) HWY_ATTR {
    const float* from = place + bin * band.bin_stride + c;
    if (rows == 4) {
      TransposeTile4(from, band.bin_stride, pixel + c * bins + bin, bins);
      return;
    }
    float rest[16];
    TransposeTile4(from, band.bin_stride, rest, 4);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(rest + 4 * i, 4, pixel + (c + i) * bins + bin);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_REGROUP_INL_H_
