// SPDX-License-Identifier: Apache-2.0
// Bands: rows of the map with some bins and some channels of each, repacked to
// [row][column][bin][channel]. There a pixel of a bin is contiguous.
#pragma once

#include <algorithm>

#include "ops/psroipool/problem.h"
#include "ops/roi/cpu/repack.h"

namespace mluop::psroipool {

// Some bins, and some of the channels of each.
struct Slice {
  int64_t first_bin, last_bin;
  int64_t first_channel, channels;  // of output_dim

  int64_t bins() const { return last_bin - first_bin; }
};

struct Band {
  Slice slice;
  int64_t first_row, last_row;  // of Problem::rows()
  int64_t bin_stride;           // the values from slice.channels on have no meaning
  int64_t pixel_stride;
  int64_t row_stride;  // W pixels and one pixel of padding

  int64_t Offset(int64_t row, int64_t bin) const {
    return (row - first_row) * row_stride + (bin - slice.first_bin) * bin_stride;
  }
  int64_t padding() const { return row_stride - pixel_stride; }
  int64_t floats() const { return (last_row - first_row) * row_stride; }
};

inline int64_t BandFloats(const Problem& p, int64_t rows, const Slice& slice) {
  return rows * (int64_t{p.w} + 1) * slice.bins() * roi::WholeVectors(slice.channels);
}

inline Band MakeBand(const Problem& p, const Slice& slice, int64_t first_row, int64_t last_row) {
  const int64_t bin_stride = roi::WholeVectors(slice.channels);
  const int64_t pixel_stride = slice.bins() * bin_stride;
  return {slice, first_row, last_row, bin_stride, pixel_stride, (int64_t{p.w} + 1) * pixel_stride};
}

// Returns the number of rows of the map that `floats` hold; at least one.
inline int64_t RowsWithin(const Problem& p, const Slice& slice, int64_t floats) {
  return std::clamp<int64_t>(floats / BandFloats(p, 1, slice), 1, p.rows());
}

// Returns the slice's bins in row `ph` of the bins: [begin, end) of G.
inline Span BinsInRow(const Problem& p, const Slice& slice, int64_t ph) {
  const int64_t first = ph * p.group;
  return {static_cast<int32_t>(std::clamp<int64_t>(slice.first_bin - first, 0, p.group)),
          static_cast<int32_t>(std::clamp<int64_t>(slice.last_bin - first, 0, p.group))};
}

}  // namespace mluop::psroipool
