// SPDX-License-Identifier: Apache-2.0
// psamask where the input is stored by places and the output by pixels: a row of the input's grids
// is transposed into a tile, from which every pixel of the block takes its run. The block goes
// through all rows: the long pieces of the input's rows and the page that each pixel writes to are
// few at a time, and the line that a pixel has begun waits for the next row.
#include "ops/psamask/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu_transpose_in.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/lines-inl.h"
#include "core/square-inl.h"

#ifndef MLUOP_PSAMASK_TILE_
#define MLUOP_PSAMASK_TILE_
namespace mluop::psamask {

constexpr int64_t kLine = 16;           // floats of a cache line
constexpr int64_t kTileFloats = 65536;  // with the input's lines in an L2 of 1 MB and more
constexpr int64_t kMostPixels = 512;    // of a block
constexpr int64_t kMostCols = 1024;     // of a tile: wider grids are taken in parts

// The scratch of a thread: the tile, tile[p][c] for the pixels of a block, and for each of them the
// line it has begun.
struct Tile {
  int64_t pixels, stride;
  float* data;

  static int64_t Stride(int64_t cols) { return WholeLines(std::min(cols, kMostCols)); }
  // The squares at the ends of a block are whole ones.
  static int64_t Floats(int64_t pixels, int64_t stride) {
    return (pixels + 2 * kLine) * stride + pixels * kLine;
  }
  float* Line(int64_t p) const { return data + p * kLine; }
  float* Row(int64_t p) const { return data + pixels * kLine + (p + kLine) * stride; }
};

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

// The input's columns that the pixels [p, p + kSquare) want, and maybe some more.
HWY_INLINE Range ColsOf(const Mapping& m, int64_t p) {
  const int64_t w = p % m.w, last = w + kSquare - 1;
  if (last >= m.w) return {0, m.in.cols};
  const Range a = m.OutCols(w), b = m.OutCols(last);
  return {std::min(a.begin + m.ColShift(w), b.begin + m.ColShift(last)),
          std::max(a.end + m.ColShift(w), b.end + m.ColShift(last))};
}

// tile[p][c] = from[c][p] for the pixels `pixels` and the columns `cols` as far as they are wanted:
// a square that no pixel takes anything of is left out (a quarter of them in 97x97 mask 97x97).
// Writes some rows more, before and after `pixels`.
void TransposeRows(const Mapping& m, const float* from, Range pixels, Range cols, float* to,
                   int64_t stride) {
  const SquareTag d;
  Range wanted[kMostPixels / kSquare + 1];
  for (int64_t p = pixels.begin, k = 0; p < pixels.end; p += kSquare, ++k) {
    wanted[k] = ColsOf(m, std::max<int64_t>(std::min(p, pixels.end - kSquare), 0));
  }
  const int64_t count = cols.count();
  for (int64_t col = 0; col < count; col += kSquare) {
    // The last rows and columns with some of those before, where there are so many.
    const int64_t first = std::max<int64_t>(std::min(col, count - kSquare), 0);
    const Range* range = wanted;
    for (int64_t next = pixels.begin; next < pixels.end; next += kSquare, ++range) {
      const int64_t c = cols.begin + first;
      if (range->end <= c || range->begin >= c + kSquare) continue;
      const int64_t p = std::max<int64_t>(std::min(next, pixels.end - kSquare), 0);
      const float* at = from + c * m.pixels() + p;
      hn::Vec<SquareTag> v[kSquare];
      for (int k = 0; k < kSquare; ++k) {
        v[k] = first + k < count ? hn::LoadU(d, at + k * m.pixels()) : hn::Zero(d);
        hwy::Prefetch(at + (k + kSquare) * m.pixels());
      }
      TransposeSquare(v);
      for (int k = 0; k < kSquare; ++k) hn::StoreU(v[k], d, to + (p + k) * stride + first);
    }
  }
}

// The output of pixel p: its grid, and what of it the input has.
struct Target {
  float* grid;
  int64_t row_shift, col_shift;
  Range rows, cols;

  Target(const Mapping& m, const Tensors& tensors, int64_t image, int64_t p)
      : grid(tensors.out + (image * m.pixels() + p) * m.out.size()),
        row_shift(m.RowShift(p / m.w)),
        col_shift(m.ColShift(p % m.w)),
        rows(m.OutRows(p / m.w)),
        cols(m.OutCols(p % m.w)) {}
};

// The columns `cols` of row in_row of the input's grids, from the tile to the pixels `pixels`.
void WriteRow(const Mapping& m, const Tensors& tensors, int64_t image, Range pixels, Range cols,
              int64_t in_row, int64_t first_pixel, const Tile& tile) {
  for (int64_t p = pixels.begin; p < pixels.end; ++p) {
    const Target target(m, tensors, image, p);
    const auto inside = [&](int64_t col) {
      return std::clamp(col - target.col_shift, target.cols.begin, target.cols.end);
    };
    const int64_t begin = inside(cols.begin), end = inside(cols.end);
    // The first part of a row writes the zeros before the run, the last those behind.
    const int64_t start = cols.begin == 0 ? 0 : begin;
    float* line = tile.Line(p - first_pixel);
    LineWriter writer(target.grid + (in_row - target.row_shift) * m.out.cols + start, target.grid,
                      tensors.stream, line);
    writer.AppendZeros(begin - start);
    writer.Append(tile.Row(p - first_pixel) + begin + target.col_shift - cols.begin, end - begin);
    if (cols.end == m.in.cols) writer.AppendZeros(m.out.cols - end);
    writer.Pause(line);
  }
}

void TransposeInBlock(const Mapping& m, const Tensors& tensors, int64_t image, Range block,
                      const Tile& tile) {
  for (int64_t p = block.begin; p < block.end; ++p) {
    const Target target(m, tensors, image, p);
    LineWriter writer(target.grid, tensors.stream);
    writer.AppendZeros(target.rows.begin * m.out.cols);
    writer.Pause(tile.Line(p - block.begin));
  }
  for (int64_t row = 0; row < m.in.rows; ++row) {
    const Range rows = m.PixelRowsOfIn(row);
    const Range pixels = {std::max(block.begin, rows.begin * m.w),
                          std::min(block.end, rows.end * m.w)};
    const float* places = tensors.in + (image * m.in.size() + row * m.in.cols) * m.pixels();
    for (int64_t col = 0; col < m.in.cols && pixels.count() > 0; col += kMostCols) {
      const Range cols = {col, std::min(col + kMostCols, m.in.cols)};
      TransposeRows(m, places, pixels, cols, tile.Row(-block.begin), tile.stride);
      WriteRow(m, tensors, image, pixels, cols, row, block.begin, tile);
    }
  }
  for (int64_t p = block.begin; p < block.end; ++p) {
    const Target target(m, tensors, image, p);
    LineWriter writer(target.grid + target.rows.end * m.out.cols, target.grid, tensors.stream,
                      tile.Line(p - block.begin));
    writer.AppendZeros((m.out.rows - target.rows.end) * m.out.cols);
    writer.Finish();
  }
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(TransposeInBlock);

void TransposeIn(const Mapping& m, const Tensors& tensors, Context& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeInBlock);
  const int64_t stride = Tile::Stride(m.in.cols);
  const Blocks blocks(m.pixels(), std::clamp(kTileFloats / stride, kLine, kMostPixels), kLine,
                      context.threads().num_threads());
  const int64_t floats = Tile::Floats(blocks.length, stride);
  auto* scratch = static_cast<float*>(context.Scratch(
      static_cast<size_t>(floats * context.threads().num_threads()) * sizeof(float)));
  const int64_t work = blocks.length * m.out.size();
  context.threads().For(m.n * blocks.count, kGrain / work + 1,
                        [&](int64_t begin, int64_t end, int worker) {
                          const Tile tile = {blocks.length, stride, scratch + worker * floats};
                          for (int64_t item = begin; item < end; ++item) {
                            const int64_t first = item % blocks.count * blocks.length;
                            kernel(m, tensors, item / blocks.count,
                                   {first, std::min(first + blocks.length, m.pixels())}, tile);
                          }
                        });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
