// SPDX-License-Identifier: Apache-2.0
// psamask for the kernels of all devices: one geometry for both directions, both types and both
// layouts.
//
// Every pixel (h, w) owns a grid of mask elements (x, dx) and a grid of feature pixels (y, dy);
// the output's grid, out, is the input's, in, moved by so much as the pixel says:
//   out(row, col) = in(row + RowShift(h), col + ColShift(w)), 0 where in has no such place.
// A tensor is stored by pixels, [pixel][place of the grid], or by places, [place][pixel].
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/host_device.h"
#include "ops/psamask/problem.h"

namespace mluop::psamask {

enum class Layout { kNhwc, kNchw };

// Which of the two tensors of a call are stored by pixels.
struct Storage {
  bool in_by_pixels, out_by_pixels;
};

// The tensor of masks is stored by pixels in NHWC. The tensor of features has the pixel's grid in
// its channels in COLLECT, and the pixel itself there in DISTRIBUTE.
inline Storage StorageOf(Layout layout, PsaType type, bool forward) {
  const bool mask = layout == Layout::kNhwc;
  const bool feature = (layout == Layout::kNhwc) == (type == kCollect);
  return forward ? Storage{mask, feature} : Storage{feature, mask};
}

// How far the input's grid lies beyond the output's, along one side of a pixel's grids.
template <typename Int>
MLUOP_HOST_DEVICE constexpr Int ShiftOf(Int sign, Int half, Int pixel) {
  return sign * (half - pixel);
}

struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

struct Grid {
  int64_t rows, cols;
  int64_t size() const { return rows * cols; }
};

struct Mapping {
  int64_t n, h, w;  // images, and the pixels of one
  Grid in, out;
  int64_t half_h, half_w;
  int64_t sign;  // 1 forward, -1 backward

  int64_t pixels() const { return h * w; }
  int64_t RowShift(int64_t row) const { return ShiftOf(sign, half_h, row); }
  int64_t ColShift(int64_t col) const { return ShiftOf(sign, half_w, col); }

  // What of the output's grid has a place in the input's.
  Range OutRows(int64_t row) const { return Inside(RowShift(row), in.rows, out.rows); }
  Range OutCols(int64_t col) const { return Inside(ColShift(col), in.cols, out.cols); }

  // The pixel rows [begin, end) that output row `row` has an input row of; of input row `row` an
  // output row.
  Range PixelRowsOfOut(int64_t row) const { return PixelRows(row, in.rows, sign); }
  Range PixelRowsOfIn(int64_t row) const { return PixelRows(row, out.rows, -sign); }

 private:
  static Range Inside(int64_t shift, int64_t in_count, int64_t out_count) {
    const int64_t begin = std::clamp<int64_t>(-shift, 0, out_count);
    return {begin, std::clamp<int64_t>(in_count - shift, begin, out_count)};
  }
  // The rows r with 0 <= row + direction * (half_h - r) < count.
  Range PixelRows(int64_t row, int64_t count, int64_t direction) const {
    const int64_t first = direction > 0 ? row + half_h - count + 1 : half_h - row;
    const int64_t begin = std::clamp<int64_t>(first, 0, h);
    return {begin, std::clamp<int64_t>(first + count, begin, h)};
  }
};

inline Mapping MakeMapping(const Problem& p, bool forward) {
  const Grid mask = {p.h_mask, p.w_mask}, feature = {p.h, p.w};
  return {p.n,
          p.h,
          p.w,
          forward ? mask : feature,
          forward ? feature : mask,
          p.half_h(),
          p.half_w(),
          forward ? 1 : -1};
}

}  // namespace mluop::psamask
