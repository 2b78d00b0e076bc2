// SPDX-License-Identifier: Apache-2.0
// Bands: rows of the map and a slice of the output channels, regrouped to [bin][row][W][channel].
#pragma once

#include <algorithm>

#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

struct Band {
  int64_t first_row, last_row;      // of Problem::rows()
  int64_t first_channel, channels;  // of output_dim
  int64_t pixel_stride;             // at least `channels`
  int64_t bin_stride;

  int64_t Offset(const Problem& p, int64_t bin, int64_t row, int64_t column) const {
    return bin * bin_stride + ((row - first_row) * p.w + column) * pixel_stride;
  }
};

// A pixel's channels are filled up to whole tiles of four.
inline int64_t WholeTiles(int64_t channels) { return (channels + 3) / 4 * 4; }

inline int64_t BandFloats(const Problem& p, int64_t rows, int64_t channels) {
  return rows * p.w * p.bins() * WholeTiles(channels);
}

inline Band MakeBand(const Problem& p, int64_t first_row, int64_t last_row, int64_t first_channel,
                     int64_t channels) {
  const int64_t stride = WholeTiles(channels);
  return {first_row, last_row, first_channel,
          channels,  stride,   (last_row - first_row) * p.w * stride};
}

// As many rows of the map as `floats` hold; one at least.
inline int64_t RowsWithin(const Problem& p, int64_t channels, int64_t floats) {
  return std::clamp<int64_t>(floats / BandFloats(p, 1, channels), 1, p.rows());
}

}  // namespace mluop::psroipool
