// SPDX-License-Identifier: Apache-2.0
// psamask where input and output are stored by places: of a row of pixels, every column of places is
// moved by its own shift, which SkewColumns does for a vector of pixels at a time. A block of pixels
// is taken through all rows of the output's grids; each is put together in a tile and leaves it
// line by line.
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/skew.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "ops/psamask/cpu/block-inl.h"

#ifndef MLUOP_PSAMASK_ROWS_
#define MLUOP_PSAMASK_ROWS_
namespace mluop::psamask {

constexpr int64_t kMostCols = 128;  // of a tile: wider grids are taken in parts
constexpr int64_t kStride = kBlock + 3 * kLine;
static_assert(kStride / kLine % 2 == 1);  // no power of two: lines of a column in several sets

// Rows at a distance, of which the columns from some place on are meant. From the other end, a
// skew to the left is one to the right.
template <typename T>
struct Rows {
  T* first;
  int64_t stride, count;

  T* Row(int64_t i) const { return first + i * stride; }
  Rows Reversed() const { return {Row(count - 1), -stride, count}; }
};

}  // namespace mluop::psamask
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::LineWriter;

// to[o][k] = from[o - k + shift][k] for the lanes k of d, 0 where there is no such row. One column
// moves by one row, two by two, and so on: each step takes a row of its input or, in the lanes that
// have its bit, the one so many rows before. Four blends make sixteen elements.
template <class D>
HWY_INLINE void SkewColumns(D d, const Rows<const float>& from, int64_t shift, int64_t ahead,
                            const Rows<float>& to) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  hn::Vec<D> before[kLanes];  // for each step, its last `distance` inputs
  for (int64_t i = 0; i < kLanes; ++i) before[i] = hn::Zero(d);
  const hn::RebindToSigned<D> di;
  const auto lane = hn::Iota(di, 0);
  const auto step = [&](hn::Vec<D>& v, int64_t k, int64_t distance) HWY_ATTR {
    if (kLanes <= distance) return;
    auto& slot = before[distance - 1 + (k & (distance - 1))];
    const auto moved = hn::TestBit(lane, hn::Set(di, static_cast<int32_t>(distance)));
    const auto result = hn::IfThenElse(hn::RebindMask(d, moved), slot, v);
    slot = v;
    v = result;
  };
  for (int64_t first = -kLanes; first < to.count; first += kLanes) {
#pragma GCC unroll 16  // `before` stays in registers
    for (int64_t k = 0; k < kLanes; ++k) {
      const int64_t o = first + k, row = o + shift;
      auto v = hn::Zero(d);
      if (row >= 0 && row < from.count) {
        v = hn::LoadU(d, from.Row(row));
        hwy::Prefetch(from.Row(row) + ahead);
      }
      step(v, k, 1);
      step(v, k, 2);
      step(v, k, 4);
      step(v, k, 8);
      if (o >= 0 && o < to.count) hn::StoreU(v, d, to.Row(o));
    }
  }
}

// Columns `cols` of an output row, for the pixels `columns` of a pixel row, and some beside them.
// `from` and `tile` are where column 0 of the pixel row is, or would be.
void SkewPixels(const Mapping& m, const Rows<const float>& from, Range cols, Range columns,
                float* tile) {
  const Rows<float> to = {tile, kStride, cols.count()};
  int64_t next = columns.begin;
  const auto vectors = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (m.w < lanes) return;
    for (; next < columns.end; next += lanes) {
      const int64_t w = std::min(next, m.w - lanes);
      const Rows<const float> a = {from.first + w, from.stride, from.count};
      const Rows<float> b = {to.first + w, to.stride, to.count};
      if (m.sign > 0) {
        SkewColumns(d, a, m.half_w - w + cols.begin, m.w, b);
      } else {  // from the last rows on, this is a skew to the right, too
        SkewColumns(d, a.Reversed(), m.in.cols - cols.end + m.half_w - w, m.w, b.Reversed());
      }
    }
  };
  vectors(hn::CappedTag<float, 16>());
  vectors(hn::CappedTag<float, 4>());
  vectors(hn::CappedTag<float, 1>());
}

void SkewBlock(const Mapping& m, const Tensors& tensors, int64_t image, Range block, Range rows,
               float* tile) {
  const float* in = tensors.in + image * m.in.size() * m.pixels();
  const Range reach = ReachOf(block, m.pixels());
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Range live = PixelsOf(m.PixelRowsOfOut(row), m.w, reach);
    for (int64_t col = 0; col < m.out.cols; col += kMostCols) {
      const Range cols = {col, std::min(col + kMostCols, m.out.cols)};
      for (int64_t p = live.begin; p < live.end;) {
        const int64_t h = p / m.w, first = h * m.w;
        const Range columns = {p - first, std::min(live.end - first, m.w)};
        const float* from = in + (row + m.RowShift(h)) * m.in.cols * m.pixels() + first;
        SkewPixels(m, {from, m.pixels(), m.in.cols}, cols, columns,
                   tile + kLine + first - block.begin);
        p = first + columns.end;
      }
      for (int64_t c = cols.begin; c < cols.end; ++c) {
        float* to = tensors.out + ((image * m.out.size() + row * m.out.cols) + c) * m.pixels();
        WriteLines(tile + (c - cols.begin) * kStride + kLine - block.begin, live,
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

HWY_EXPORT(SkewBlock);

void Skew(const Mapping& m, const Tensors& tensors, CpuContext& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(SkewBlock);
  const int64_t floats = std::min(m.out.cols, kMostCols) * kStride;
  auto* scratch = static_cast<float*>(context.Scratch(
      static_cast<size_t>(floats * context.threads().num_threads()) * sizeof(float)));
  ForEachBlock(m, context, [&](int64_t image, Range block, Range rows, int worker) {
    kernel(m, tensors, image, block, rows, scratch + worker * floats);
  });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
