// SPDX-License-Identifier: Apache-2.0
// Bands: rows of the map with some of its bins and a slice of their channels, regrouped to
// [row][column][bin][channel], so that a pixel of a bin is contiguous.
#pragma once

#include <algorithm>

#include "cpu/vectors.h"
#include "ops/psroipool/problem.h"

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
  int64_t bin_stride;           // beyond slice.channels the values have no meaning
  int64_t pixel_stride;
  int64_t row_stride;  // W pixels and one more, the neutral one

  int64_t Offset(int64_t row, int64_t bin) const {
    return (row - first_row) * row_stride + (bin - slice.first_bin) * bin_stride;
  }

  int64_t neutral() const { return row_stride - pixel_stride; }
  int64_t floats() const { return (last_row - first_row) * row_stride; }
};

inline int64_t BandFloats(const Problem& p, int64_t rows, const Slice& slice) {
  return rows * (int64_t{p.w} + 1) * slice.bins() * WholeVectors(slice.channels);
}

inline Band MakeBand(const Problem& p, const Slice& slice, int64_t first_row, int64_t last_row) {
  const int64_t bin_stride = WholeVectors(slice.channels);
  const int64_t pixel_stride = slice.bins() * bin_stride;
  return {slice, first_row, last_row, bin_stride, pixel_stride, (int64_t{p.w} + 1) * pixel_stride};
}

// As many rows of the map as `floats` hold; one at least.
inline int64_t RowsWithin(const Problem& p, const Slice& slice, int64_t floats) {
  return std::clamp<int64_t>(floats / BandFloats(p, 1, slice), 1, p.rows());
}

// Bins are summed in pieces at most this high and wide, so that no chain of additions is long: a
// chain of a million would lose the last digits.
inline constexpr int64_t kPiece = 32;

// Whether some bin may be summed in several strips: its sum waits in scratch for the next.
inline bool HasStrips(const Problem& p, int64_t band_rows) {
  return band_rows < p.rows() || p.h > kPiece;
}

// Beside the sums, room for these many pixels: one for what nobody reads, the others for a Reach.
inline constexpr int64_t kReachPixels = 3;
inline constexpr int64_t kSparePixels = 1 + kReachPixels;

// The slice's bins in a row of bins: [begin, end) of G.
inline Span BinsInRow(const Problem& p, const Slice& slice, int64_t ph) {
  const int64_t first = ph * p.group;
  return {static_cast<int32_t>(std::clamp<int64_t>(slice.first_bin - first, 0, p.group)),
          static_cast<int32_t>(std::clamp<int64_t>(slice.last_bin - first, 0, p.group))};
}

// The memory in which a worker sums the gradients of a band.
struct Sums {
  float* total;  // [band]
  float* part;   // [band], used where there are more than kRoisOfPart rois
};

// A pixel may get a gradient from every roi. No chain of additions is longer than this many rois
// before it becomes one term of the next: a chain of 100,000 would lose the last digits.
inline constexpr int64_t kRoisOfPart = 512;

}  // namespace mluop::psroipool
