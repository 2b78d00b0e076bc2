// SPDX-License-Identifier: Apache-2.0
// psamask where one of input and output is stored by pixels and the other by places: squares are
// transposed in registers. Both kernels take a block of pixels through all rows of the grids. Of the
// tensor by pixels that is one page a pixel, which stay at hand; of the tensor by places long
// pieces of rows. User memory has small pages, and finding one costs more than copying a line.
#include "ops/psamask/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu_transpose_out.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/lines-inl.h"
#include "core/square-inl.h"
#include "ops/psamask/block-inl.h"

#ifndef MLUOP_PSAMASK_TRANSPOSE_
#define MLUOP_PSAMASK_TRANSPOSE_
namespace mluop::psamask {

// Part of a grid.
struct Window {
  Range rows, cols;
};

inline Range Common(const Range& a, const Range& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
inline Range Around(const Range& a, const Range& b) {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}
inline bool Contains(const Range& a, const Range& b) {
  return a.begin <= b.begin && b.end <= a.end;
}
inline bool Meet(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace mluop::psamask
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kSquare;
using mluop::HWY_NAMESPACE::LineWriter;
using mluop::HWY_NAMESPACE::SquareTag;
using mluop::HWY_NAMESPACE::TransposeSquare;
using V = hn::Vec<SquareTag>;

// The lanes [begin, end) of from, 0 in the others.
HWY_INLINE V LoadLanes(const float* from, int64_t begin, int64_t end) {
  const SquareTag d;
  begin = std::max<int64_t>(begin, 0);
  end = std::clamp<int64_t>(end, begin, std::max<int64_t>(begin, kSquare));
#if MLUOP_MASKS_MEMORY
  return hn::MaskedLoad(hn::AndNot(hn::FirstN(d, static_cast<size_t>(begin)),
                                   hn::FirstN(d, static_cast<size_t>(end))),
                        d, from);
#else
  HWY_ALIGN float lanes[kSquare] = {};
  for (int64_t i = begin; i < end; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

// What a pixel of a block gives to the output: place (row, col) from[row*in.cols + col] within the
// window, 0 outside.
struct Source {
  const float* from;
  Window window;
};

// The sources of kSquare pixels.
struct Group {
  Source sources[kSquare];
  Window all;  // what all of them give,
  Window any;  // what none gives more than
};

void PrepareGroup(const Mapping& m, const Tensors& tensors, int64_t image, Range pixels,
                  Group& group) {
  for (int k = 0; k < kSquare; ++k) {
    const int64_t p = pixels.begin + k;
    Source& source = group.sources[k];
    if (p >= pixels.end) {
      source = {tensors.in, {{0, 0}, {0, 0}}};
    } else {
      const int64_t h = p / m.w, w = p % m.w;
      source = {tensors.in + (image * m.pixels() + p) * m.in.size() + m.RowShift(h) * m.in.cols +
                    m.ColShift(w),
                {m.OutRows(h), m.OutCols(w)}};
    }
    const Window& window = source.window;
    group.all =
        k == 0 ? window
               : Window{Common(group.all.rows, window.rows), Common(group.all.cols, window.cols)};
    group.any =
        k == 0 ? window
               : Window{Around(group.any.rows, window.rows), Around(group.any.cols, window.cols)};
  }
}

// lines[c][k] for the kSquare columns c from col on and the pixels k of the group.
HWY_INLINE void TransposeGroup(const Group& group, int64_t row, int64_t col, int64_t in_cols,
                               float* lines, int64_t stride) {
  const SquareTag d;
  const Range rows = {row, row + 1}, cols = {col, col + kSquare};
  const int64_t offset = row * in_cols + col;
  V v[kSquare];
  if (Contains(group.all.rows, rows) && Contains(group.all.cols, cols)) {
    for (int k = 0; k < kSquare; ++k) {
      const float* from = group.sources[k].from + offset;
      v[k] = hn::LoadU(d, from);
      hwy::Prefetch(from + in_cols);
    }
    TransposeSquare(v);
  } else if (Meet(group.any.rows, rows) && Meet(group.any.cols, cols)) {
    for (int k = 0; k < kSquare; ++k) {
      const Source& source = group.sources[k];
      const bool there = Contains(source.window.rows, rows);
      v[k] = there ? LoadLanes(source.from + offset, source.window.cols.begin - col,
                               source.window.cols.end - col)
                   : hn::Zero(d);
    }
    TransposeSquare(v);
  } else {
    for (int k = 0; k < kSquare; ++k) v[k] = hn::Zero(d);
  }
  for (int c = 0; c < kSquare; ++c) hn::Store(v[c], d, lines + c * stride);
}

// Output rows `rows` of the grids, of a block of pixels.
void TransposeOutBlock(const Mapping& m, const Tensors& tensors, int64_t image, Range block,
                       Range rows) {
  constexpr int64_t kGroups = (kBlock + kLine) / kSquare;
  constexpr int64_t kStride = kBlock + kLine;
  static_assert(kStride / kLine % 2 == 1);  // no power of two: lines of a column in several sets
  HWY_ALIGN float lines[kSquare * kStride];
  Group groups[kGroups];
  const Range reach = ReachOf(block, m.pixels());
  const int64_t group_count = (reach.count() + kSquare - 1) / kSquare;
  for (int64_t g = 0; g < group_count; ++g) {
    PrepareGroup(m, tensors, image, {reach.begin + g * kSquare, reach.end}, groups[g]);
  }
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    float* out = tensors.out + (image * m.out.size() + row * m.out.cols) * m.pixels();
    for (int64_t col = 0; col < m.out.cols; col += kSquare) {
      // The last columns with some of those before, where there are so many.
      const int64_t first = std::max<int64_t>(std::min(col, m.out.cols - kSquare), 0);
      for (int64_t g = 0; g < group_count; ++g) {
        TransposeGroup(groups[g], row, first, m.in.cols, lines + g * kSquare, kStride);
      }
      for (int64_t c = col; c < std::min(first + kSquare, m.out.cols); ++c) {
        float* to = out + c * m.pixels();
        WriteLines(lines + (c - first) * kStride - block.begin, reach,
                   LinesOf(to, block, m.pixels()), tensors.stream, to);
      }
    }
  }
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(TransposeOutBlock);

void TransposeOut(const Mapping& m, const Tensors& tensors, Context& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeOutBlock);
  ForEachBlock(m, context, [&](int64_t image, Range block, Range rows, int) {
    kernel(m, tensors, image, block, rows);
  });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
