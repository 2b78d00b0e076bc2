// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU, implementation "transpose_store": the input is pixel-major, the output
// cell-major. Squares are transposed in registers. The loop over grid rows is inside the loop over
// bands of pixels. This touches few pages: one page of the input per pixel, and long runs of the
// output's rows. A TLB miss costs more than copying a line.
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/transpose_store.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;
using simd::kSquare;
using simd::SquareTag;
using V = hn::Vec<SquareTag>;

// Part of a grid.
struct Window {
  Range rows, cols;
};

// Cell (row, col) of a pixel's output grid is from[row * in.cols + col] inside of the window.
struct PixelSource {
  const float* from;
  Window window;
};

struct PixelGroup {
  PixelSource sources[kSquare];
  Window all;  // inside of every source's window
  Window any;  // contains every source's window
};

// Fills the group of the kSquare pixels from `first` on. Windows past the last pixel are empty.
void PrepareGroup(const Problem& p, const float* in, int64_t first, PixelGroup& group) {
  group.all = {{0, p.out.rows}, {0, p.out.cols}};
  group.any = {{p.out.rows, 0}, {p.out.cols, 0}};
  const auto narrow = [](Range& all, Range& any, const Range& range) {
    all = {std::max(all.begin, range.begin), std::min(all.end, range.end)};
    any = {std::min(any.begin, range.begin), std::max(any.end, range.end)};
  };
  for (int k = 0; k < kSquare; ++k) {
    const int64_t pixel = std::min(first + k, p.pixels() - 1), h = pixel / p.w, w = pixel % p.w;
    PixelSource& source = group.sources[k];
    source.from = in + pixel * p.in.size() + p.RowShift(h) * p.in.cols + p.ColShift(w);
    source.window = first + k < p.pixels() ? Window{p.OutRows(h), p.OutCols(w)} : Window{};
    narrow(group.all.rows, group.any.rows, source.window.rows);
    narrow(group.all.cols, group.any.cols, source.window.cols);
  }
}

// Loads the kSquare columns from `col` on of an output row: v[c] holds the pixels of the group.
HWY_INLINE void TransposeGroup(const PixelGroup& group, int64_t row, int64_t col, int64_t in_cols,
                               V* HWY_RESTRICT v) {
  const SquareTag d;
  const Range square = {col, col + kSquare};
  const int64_t offset = row * in_cols + col;
  if (group.all.rows.Has(row) && group.all.cols.Contains(square)) {
    for (int k = 0; k < kSquare; ++k) v[k] = hn::LoadU(d, group.sources[k].from + offset);
  } else if (group.any.rows.Has(row) && group.any.cols.Overlaps(square)) {
    for (int k = 0; k < kSquare; ++k) {
      const auto& [from, window] = group.sources[k];
      const int64_t begin = std::clamp<int64_t>(window.cols.begin - col, 0, kSquare);
      const int64_t end = std::clamp<int64_t>(window.cols.end - col, begin, kSquare);
      v[k] = simd::LoadLanes(d, from + offset, begin, window.rows.Has(row) ? end : begin);
    }
  } else {
    for (int k = 0; k < kSquare; ++k) v[k] = hn::Zero(d);
    return;
  }
  simd::TransposeSquare(d, v);
}

// Columns `cols` of an output row, for the pixels of a band.
struct BandColumns {
  float* to;  // of pixel 0 and column 0
  Range pixels, cols;
  int64_t row;
  bool stream;
  float* scratch;
};

// The first column of the square that covers the columns from `col` on: the last square starts
// earlier.
HWY_INLINE int64_t SquareAt(const Problem& p, int64_t col) {
  return std::max<int64_t>(std::min(col, p.out.cols - kSquare), 0);
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// Prefetches the columns `cols` of a row from the pixels of the group.
HWY_INLINE void PrefetchGroup(const PixelGroup& group, int64_t row, Range cols, int64_t in_cols) {
  if (!group.any.rows.Has(row)) return;
  for (const auto& [from, window] : group.sources) {
    const int64_t begin = std::max(window.cols.begin, cols.begin);
    const int64_t end = std::min(window.cols.end, cols.end);
    simd::PrefetchLines(from + row * in_cols + begin, end - begin);
    hwy::Prefetch(from + row * in_cols + end - 1);
  }
}

// Stores the band's part of the line that starts at pixel `at`.
HWY_NOINLINE void StoreOwned(const Problem& p, V line, const BandColumns& band, int64_t c,
                             int64_t at) {
  const SquareTag d;
  float* to = band.to + c * p.pixels();
  const Range owned = LinesOf(to, band.pixels, p.pixels());
  if (at >= owned.end || owned.begin >= at + kSquare) return;
  const auto begin = static_cast<size_t>(std::max<int64_t>(owned.begin - at, 0));
  const auto end = static_cast<size_t>(owned.end - at);
  hn::BlendedStore(line, hn::AndNot(hn::FirstN(d, begin), hn::FirstN(d, end)), d, to + at);
}

// Stores squares from registers to the output, one whole line per column. `carry` holds, for every
// column, the pixels that belong to its next line. 1.3x floor; 2.0x floor through a tile (60x60
// mask 119x119). `v` is the square of the pixels from `pixel` on and the columns from `first` on.
template <bool kInside>
HWY_INLINE void StoreSquare(const Problem& p, const BandColumns& band, int64_t col, int64_t first,
                            int64_t pixel, const V* HWY_RESTRICT v) {
  const SquareTag d;
  const int64_t pixels = p.pixels(), begin = col - first, end = band.cols.end - first;
  float* to = band.to + first * pixels + pixel;
  float* HWY_RESTRICT carry = band.scratch + (col - band.cols.begin) * kSquare;
#pragma GCC unroll 16  // keeps v[k] in its register
  for (int k = 0; k < kSquare; ++k, to += pixels, carry += kSquare) {
    if (k < begin || k >= end) continue;
    const auto shift =
        static_cast<int32_t>(reinterpret_cast<uintptr_t>(to) / sizeof(float) % kLine);
    const V line = simd::JoinLanes(hn::Load(d, carry), v[k], shift);
    hn::Store(v[k], d, carry);
    if (!kInside) {
      StoreOwned(p, line, band, first + k, pixel - shift);
    } else if (band.stream) {
      hn::Stream(line, d, to - shift);
    } else {
      // Prefetches the column's next line: consecutive stores go to distant lines. 1.6 x floor
      // with prefetch, 2.2 without (30x30).
      hwy::Prefetch(to - shift + kLine);
      hn::Store(line, d, to - shift);
    }
  }
}

HWY_INLINE void WriteColumns(const Problem& p, const BandColumns& band, const PixelGroup* groups,
                             int64_t group_count) {
  V v[kSquare];
  for (int64_t g = 0; g < group_count; ++g) {
    const int64_t next = g + 1;
    PrefetchGroup(groups[next % group_count], band.row + next / group_count, band.cols, p.in.cols);
    for (int64_t col = band.cols.begin; col < band.cols.end; col += kSquare) {
      const int64_t first = SquareAt(p, col), pixel = band.pixels.begin + g * kSquare;
      TransposeGroup(groups[g], band.row, first, p.in.cols, v);
      if (g > 0 && pixel + kSquare <= band.pixels.end) {
        StoreSquare<true>(p, band, col, first, pixel, v);
      } else {
        StoreSquare<false>(p, band, col, first, pixel, v);
      }
    }
  }
}

#else

// Through a tile: a line is more than one vector, and its vectors must be stored one after the
// other.
HWY_INLINE void WriteColumns(const Problem& p, const BandColumns& band, const PixelGroup* groups,
                             int64_t group_count) {
  const SquareTag d;
  V v[kSquare];
  const int64_t base = SquareAt(p, band.cols.begin);
  for (int64_t g = 0; g < group_count; ++g) {
    for (int64_t col = band.cols.begin; col < band.cols.end; col += kSquare) {
      const int64_t first = SquareAt(p, col);
      TransposeGroup(groups[g], band.row, first, p.in.cols, v);
      float* to = band.scratch + (first - base) * kTileStride + g * kSquare;
      for (int c = 0; c < kSquare; ++c) hn::Store(v[c], d, to + c * kTileStride);
    }
  }
  for (int64_t c = band.cols.begin; c < band.cols.end; ++c) {
    float* to = band.to + c * p.pixels();
    const Range lines = LinesOf(to, band.pixels, p.pixels());
    simd::LineWriter writer(to + lines.begin, band.stream);
    writer.Append(band.scratch + (c - base) * kTileStride + lines.begin - band.pixels.begin,
                  lines.count());
    writer.Finish();
  }
}

#endif

void TransposeStoreBand(const Problem& p, const Tensors& tensors, const Band& band,
                        float* scratch) {
  PixelGroup groups[(kBandPixels + kLine) / kSquare];
  const int64_t group_count = (band.pixels.count() + kLine - 1 + kSquare - 1) / kSquare;
  const float* in = tensors.in + band.image * p.pixels() * p.in.size();
  for (int64_t g = 0; g < group_count; ++g) {
    PrepareGroup(p, in, band.pixels.begin + g * kSquare, groups[g]);
  }
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row) {
    float* to = tensors.out + (band.image * p.out.size() + row * p.out.cols) * p.pixels();
    for (int64_t col = 0; col < p.out.cols; col += kTileCols) {
      const Range cols = {col, std::min(col + kTileCols, p.out.cols)};
      WriteColumns(p, {to, band.pixels, cols, row, tensors.stream, scratch}, groups, group_count);
    }
  }
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace
}  // namespace mluop::psamask::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(TransposeStoreBand);

mluOpStatus_t TransposeStore(const PsamaskCall& call, void* scratch) {
  return RunOnTiles(call, HWY_DYNAMIC_DISPATCH(TransposeStoreBand), scratch);
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
