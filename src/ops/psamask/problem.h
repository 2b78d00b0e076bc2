// SPDX-License-Identifier: Apache-2.0
// psamask: one geometry for both directions, both types, both layouts and all devices.
//
// Every pixel (h, w) owns two grids of cells: its mask, [h_mask, w_mask], and the feature map,
// [H, W]. One is the input's grid, one the output's. They differ by a shift:
//   out(row, col) = in(row + RowShift(h), col + ColShift(w)), 0 outside of `in`.
// A tensor is pixel-major, [pixel][cell], or cell-major, [cell][pixel].
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"

namespace mluop::psamask {

enum class Layout { kNhwc, kNchw };
enum class Direction { kForward, kBackward };

// The offset of the input's grid against the output's along one axis.
template <typename Int>
MLUOP_HOST_DEVICE constexpr Int ShiftOf(Int sign, Int half, Int pixel) {
  return sign * (half - pixel);
}

struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
  bool Has(int64_t i) const { return begin <= i && i < end; }
  bool Contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  bool Overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

struct CellGrid {
  int64_t rows, cols;
  int64_t size() const { return rows * cols; }
};

struct Problem {
  int64_t n, h, w;
  CellGrid in, out;
  int64_t half_h, half_w;
  int64_t sign;  // 1 forward, -1 backward
  bool in_pixel_major, out_pixel_major;

  int64_t pixels() const { return h * w; }
  int64_t out_count() const { return n * pixels() * out.size(); }
  int64_t MaskCols() const { return sign > 0 ? in.cols : out.cols; }
  int64_t RowShift(int64_t row) const { return ShiftOf(sign, half_h, row); }
  int64_t ColShift(int64_t col) const { return ShiftOf(sign, half_w, col); }

  // The rows and columns of the output's grid that lie inside of the input's. Never empty: every
  // pixel is inside its mask.
  Range OutRows(int64_t row) const { return Inside(RowShift(row), in.rows, out.rows); }
  Range OutCols(int64_t col) const { return Inside(ColShift(col), in.cols, out.cols); }

  // Returns the pixel rows whose input grid contains output row `row`.
  Range PixelRowsOfOut(int64_t row) const { return PixelRows(row, in.rows, sign); }
  // Returns the pixel rows whose output grid contains input row `row`.
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

// NHWC masks are pixel-major. In COLLECT the channels of the feature tensor are the feature grid.
// In DISTRIBUTE they are the pixels that own the masks, so the order is swapped.
template <Layout kLayout, Direction kDirection>
Problem MakeProblem(const Arguments& a) {
  constexpr bool kForward = kDirection == Direction::kForward;
  constexpr bool kMaskPixelMajor = kLayout == Layout::kNhwc;
  const bool collect = a.Int("psa_type") == 0;
  const bool feature_pixel_major = kMaskPixelMajor == collect;
  const CellGrid mask = {a.Int("h_mask"), a.Int("w_mask")};
  const CellGrid feature = {a.Symbol("H"), a.Symbol("W")};
  return {.n = a.Symbol("N"),
          .h = feature.rows,
          .w = feature.cols,
          .in = kForward ? mask : feature,
          .out = kForward ? feature : mask,
          .half_h = (mask.rows - 1) / 2,
          .half_w = (mask.cols - 1) / 2,
          .sign = kForward ? 1 : -1,
          .in_pixel_major = kForward ? kMaskPixelMajor : feature_pixel_major,
          .out_pixel_major = kForward ? feature_pixel_major : kMaskPixelMajor};
}

}  // namespace mluop::psamask
