// SPDX-License-Identifier: Apache-2.0
// psamask where the input is stored by pixels and the output by places: squares are transposed in
// registers. A block of pixels is taken through all rows of the grids: of the input that is one page
// a pixel, which stay at hand, of the output long pieces of rows. User memory has small pages, and
// finding one costs more than copying a line.
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/transpose_out.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/square-inl.h"
#include "ops/psamask/cpu/block-inl.h"

#ifndef MLUOP_PSAMASK_TRANSPOSE_
#define MLUOP_PSAMASK_TRANSPOSE_
namespace mluop::psamask {

// A strip's memory: a tile of a line per column, of which the last square may take some more.
constexpr int64_t kLineStride = kBlock + kLine;
constexpr int64_t kStripFloats = (kTileCols + kLine) * kLineStride;
static_assert(kStripFloats >= kStraightCols * kLine);
static_assert(kLineStride / kLine % 2 == 1);  // no power of two: columns in several sets

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
using mluop::HWY_NAMESPACE::LoadLanes;
using mluop::HWY_NAMESPACE::SquareTag;
using mluop::HWY_NAMESPACE::TransposeSquare;
using V = hn::Vec<SquareTag>;

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

// The pixels from `first` on; what is no pixel any more gives nothing.
void PrepareGroup(const Mapping& m, const Tensors& tensors, int64_t image, int64_t first,
                  Group& group) {
  for (int k = 0; k < kSquare; ++k) {
    const int64_t p = first + k;
    Source& source = group.sources[k];
    if (p >= m.pixels()) {
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

// The kSquare columns from col on of an output row: v[c] has the pixels of the group.
HWY_INLINE void TransposeGroup(const Group& group, int64_t row, int64_t col, int64_t in_cols,
                               V* HWY_RESTRICT v) {
  const SquareTag d;
  const Range rows = {row, row + 1}, cols = {col, col + kSquare};
  const int64_t offset = row * in_cols + col;
  if (Contains(group.all.rows, rows) && Contains(group.all.cols, cols)) {
    for (int k = 0; k < kSquare; ++k) v[k] = hn::LoadU(d, group.sources[k].from + offset);
    TransposeSquare(d, v);
  } else if (Meet(group.any.rows, rows) && Meet(group.any.cols, cols)) {
    for (int k = 0; k < kSquare; ++k) {
      const Source& source = group.sources[k];
      const Range window = Contains(source.window.rows, rows) ? source.window.cols : Range{0, 0};
      const int64_t begin = std::clamp<int64_t>(window.begin - col, 0, kSquare);
      const int64_t end = std::clamp<int64_t>(window.end - col, begin, kSquare);
      v[k] = LoadLanes(d, source.from + offset, begin, end);
    }
    TransposeSquare(d, v);
  } else {
    for (int k = 0; k < kSquare; ++k) v[k] = hn::Zero(d);
  }
}

// Asks for what the group gives to columns `cols` of a row.
HWY_INLINE void PrefetchGroup(const Group& group, int64_t row, Range cols, int64_t in_cols) {
  if (!Meet(group.any.rows, {row, row + 1})) return;
  for (const Source& source : group.sources) {
    const Range window = Common(source.window.cols, cols);
    const float* from = source.from + row * in_cols;
    for (int64_t c = window.begin; c < window.end; c += kLine) hwy::Prefetch(from + c);
    hwy::Prefetch(from + window.end - 1);
  }
}

// Columns `cols` of an output row, of a block of pixels.
struct Strip {
  float* to;  // of pixel 0 and column 0
  Range block, cols;
  int64_t row, pixels;
  bool stream;
  float* memory;  // kStripFloats, aligned

  // Where the square for the columns from col on begins: the last one takes some before.
  int64_t SquareAt(int64_t col, int64_t out_cols) const {
    return std::max<int64_t>(std::min(col, out_cols - kSquare), 0);
  }
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

constexpr int64_t kStripCols = kStraightCols;

// Lanes [0, shift) from the end of `before`, the others from the beginning of `v`.
HWY_INLINE V Join(V before, V v, int32_t shift) {
  HWY_ALIGN static constexpr int32_t kPlaces[2 * kSquare] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  const auto lanes = _mm512_loadu_si512(kPlaces + kSquare - shift);
  return V{_mm512_permutex2var_ps(before.raw, lanes, v.raw)};
}

// Stores of the line, which begins at pixel `at`, what is the block's.
HWY_NOINLINE void StoreOwned(V line, const Strip& strip, int64_t c, int64_t at) {
  const SquareTag d;
  float* to = strip.to + c * strip.pixels;
  const Range owned = LinesOf(to, strip.block, strip.pixels);
  if (at >= owned.end || owned.begin >= at + kSquare) return;
  const auto begin = static_cast<size_t>(std::max<int64_t>(owned.begin - at, 0));
  const auto end = static_cast<size_t>(owned.end - at);
  hn::BlendedStore(line, hn::AndNot(hn::FirstN(d, begin), hn::FirstN(d, end)), d, to + at);
}

// Squares go straight from the registers to the output, a whole line of it at a time: what a line
// has of the group before is kept in `kept`, a vector per column. 1.3 x floor where a tile between
// them takes 2.0 (60x60 mask 119x119). `v` is the square of the pixels from p on and the columns
// from `first` on, of which the strip wants those from `col` on.
template <bool kInside>
HWY_INLINE void WriteSquare(const Strip& strip, int64_t col, int64_t first, int64_t p,
                            const V* HWY_RESTRICT v, float* HWY_RESTRICT kept) {
  const SquareTag d;
  const int64_t begin = col - first, end = strip.cols.end - first;
  float* to = strip.to + first * strip.pixels + p;
  kept += (col - strip.cols.begin) * kSquare;
#pragma GCC unroll 16  // v[k] stays in its register
  for (int k = 0; k < kSquare; ++k, to += strip.pixels, kept += kSquare) {
    if (k < begin || k >= end) continue;
    const auto shift =
        static_cast<int32_t>(reinterpret_cast<uintptr_t>(to) / sizeof(float) % kLine);
    const V line = Join(hn::Load(d, kept), v[k], shift);
    hn::Store(v[k], d, kept);
    if (!kInside) {
      StoreOwned(line, strip, first + k, p - shift);
    } else if (strip.stream) {
      hn::Stream(line, d, to - shift);
    } else {
      // The column's next line: lines stored in turn are no neighbours. 2.2 to 1.6 x floor (30x30).
      hwy::Prefetch(to - shift + kLine);
      hn::Store(line, d, to - shift);
    }
  }
}

HWY_INLINE void WriteStrip(const Mapping& m, const Strip& strip, const Group* groups,
                           int64_t group_count) {
  float* const kept = strip.memory;  // a square's columns side by side
  V v[kSquare];
  for (int64_t g = 0; g < group_count; ++g) {
    const int64_t next = g + 1;
    PrefetchGroup(groups[next % group_count], strip.row + next / group_count, strip.cols,
                  m.in.cols);
    for (int64_t col = strip.cols.begin; col < strip.cols.end; col += kSquare) {
      const int64_t first = strip.SquareAt(col, m.out.cols);
      TransposeGroup(groups[g], strip.row, first, m.in.cols, v);
      const int64_t p = strip.block.begin + g * kSquare;
      if (g > 0 && p + kSquare <= strip.block.end) {
        WriteSquare<true>(strip, col, first, p, v, kept);
      } else {
        WriteSquare<false>(strip, col, first, p, v, kept);
      }
    }
  }
}

#else

constexpr int64_t kStripCols = kTileCols;

// Through a tile: two vectors of a line must be stored one after the other.
HWY_INLINE void WriteStrip(const Mapping& m, const Strip& strip, const Group* groups,
                           int64_t group_count) {
  const SquareTag d;
  float* const lines = strip.memory;
  V v[kSquare];
  const int64_t base = strip.SquareAt(strip.cols.begin, m.out.cols);
  for (int64_t g = 0; g < group_count; ++g) {
    for (int64_t col = strip.cols.begin; col < strip.cols.end; col += kSquare) {
      const int64_t first = strip.SquareAt(col, m.out.cols);
      TransposeGroup(groups[g], strip.row, first, m.in.cols, v);
      float* to = lines + (first - base) * kLineStride + g * kSquare;
      for (int c = 0; c < kSquare; ++c) hn::Store(v[c], d, to + c * kLineStride);
    }
  }
  for (int64_t c = strip.cols.begin; c < strip.cols.end; ++c) {
    float* to = strip.to + c * strip.pixels;
    WriteLines(lines + (c - base) * kLineStride - strip.block.begin, {0, strip.pixels},
               LinesOf(to, strip.block, strip.pixels), strip.stream, to);
  }
}

#endif

// Output rows `rows` of the grids, of a block of pixels.
void TransposeOutBlock(const Mapping& m, const Tensors& tensors, int64_t image, Range block,
                       Range rows, float* memory) {
  Group groups[(kBlock + kLine) / kSquare];
  const int64_t group_count = (block.count() + kLine - 1 + kSquare - 1) / kSquare;
  for (int64_t g = 0; g < group_count; ++g) {
    PrepareGroup(m, tensors, image, block.begin + g * kSquare, groups[g]);
  }
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    float* to = tensors.out + (image * m.out.size() + row * m.out.cols) * m.pixels();
    for (int64_t col = 0; col < m.out.cols; col += kStripCols) {
      const Range cols = {col, std::min(col + kStripCols, m.out.cols)};
      WriteStrip(m, {to, block, cols, row, m.pixels(), tensors.stream, memory}, groups,
                 group_count);
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

void TransposeOut(const Mapping& m, const Tensors& tensors, CpuContext& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeOutBlock);
  const int threads = context.threads().num_threads();
  auto* memory = static_cast<float*>(
      context.Scratch(static_cast<size_t>(kStripFloats * threads) * sizeof(float)));
  ForEachBlock(m, context, [&](int64_t image, Range block, Range rows, int worker) {
    kernel(m, tensors, image, block, rows, memory + worker * kStripFloats);
  });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
