// SPDX-License-Identifier: Apache-2.0
// Bands: rows of the map and a slice of the output channels, regrouped to [bin][row][W][channel].
#pragma once

#include <algorithm>

#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

struct Band {
  int64_t first_row, last_row;      // of Problem::rows()
  int64_t first_channel, channels;  // of output_dim
  int64_t pixel_stride;             // beyond `channels` the values have no meaning
  int64_t bin_stride;

  int64_t Offset(const Problem& p, int64_t bin, int64_t row, int64_t column) const {
    return bin * bin_stride + ((row - first_row) * p.w + column) * pixel_stride;
  }
};

// A pixel's channels are filled up to whole vectors of at most 64 bytes: no load crosses a cache
// line, and no store reaches into the next pixel, which the next load would have to wait for.
inline int64_t WholeVectors(int64_t channels) {
  return channels <= 4 ? 4 : channels <= 8 ? 8 : (channels + 15) / 16 * 16;
}

// Where vectors are longer still, the last one of a band is whole all the same.
inline constexpr int64_t kSlack = 64;

inline int64_t BandFloats(const Problem& p, int64_t rows, int64_t channels) {
  return rows * p.w * p.bins() * WholeVectors(channels) + kSlack;
}

inline Band MakeBand(const Problem& p, int64_t first_row, int64_t last_row, int64_t first_channel,
                     int64_t channels) {
  const int64_t stride = WholeVectors(channels);
  return {first_row, last_row, first_channel,
          channels,  stride,   (last_row - first_row) * p.w * stride};
}

// As many rows of the map as `floats` hold; one at least.
inline int64_t RowsWithin(const Problem& p, int64_t channels, int64_t floats) {
  return std::clamp<int64_t>(floats / BandFloats(p, 1, channels), 1, p.rows());
}

// An element of a bin read from or added to the map itself costs a cache line, as much as to
// regroup this many: with few rois, most of the map is not worth it. (38x63x3969: even at 25 rois;
// 14x14x392: at 8.)
inline constexpr int64_t kStridedCost = 6;

// The memory in which a worker sums the gradients of a band.
struct Sums {
  float* total;  // [band]
  float* part;   // [band], used where there are more than kRoisOfPart rois
};

// A pixel may get a gradient from every roi. No chain of additions is longer than this many rois
// before it becomes one term of the next: a chain of 100,000 would lose the last digits.
inline constexpr int64_t kRoisOfPart = 512;

}  // namespace mluop::psroipool
