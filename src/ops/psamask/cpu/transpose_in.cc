// SPDX-License-Identifier: Apache-2.0
// psamask where the input is stored by places and the output by pixels: a row of the input's grids
// is transposed into a tile, from which every pixel of the block takes its run. The block goes
// through all rows: the long pieces of the input's rows and the page that each pixel writes to are
// few at a time, and the line that a pixel has begun waits for the next row.
#include "cpu/tuning.h"
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/transpose_in.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/lines-inl.h"
#include "cpu/square-inl.h"

#ifndef MLUOP_PSAMASK_TILE_
#define MLUOP_PSAMASK_TILE_
namespace mluop::psamask {

constexpr int64_t kMostCols = 1024;  // of a tile: wider grids are taken in parts

// The scratch of a thread: a row of the input's grids for the pixels of a block, Row(p)[c], and for
// each pixel the line of the output that it has begun.
struct Tile {
  int64_t first, pixels;  // the block's first pixel, and how many there are at most
  int64_t stride;
  float* data;

  static int64_t Stride(int64_t cols) { return WholeLines(std::min(cols, kMostCols)); }
  // The squares at the ends of a block are whole ones.
  static int64_t Floats(int64_t pixels, int64_t stride) {
    return (pixels + 2 * kLine) * stride + pixels * kLine;
  }
  float* Line(int64_t p) const { return data + (p - first) * kLine; }
  float* Row(int64_t p) const { return data + pixels * kLine + (p - first + kLine) * stride; }
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
void TransposeRows(const Mapping& m, const float* from, Range pixels, Range cols,
                   const Tile& tile) {
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
      TransposeSquare(d, v);
      for (int k = 0; k < kSquare; ++k) hn::StoreU(v[k], d, tile.Row(p + k) + first);
    }
  }
}

// The columns `cols` of the input's row in_row, from the tile to the pixels `pixels` of a pixel row.
void WriteRuns(const Mapping& m, const Tensors& image, int64_t in_row, Range pixels, Range cols,
               const Tile& tile) {
  const int64_t h = pixels.begin / m.w;
  const int64_t out_row = (in_row - m.RowShift(h)) * m.out.cols;
  for (int64_t p = pixels.begin; p < pixels.end; ++p) {
    const int64_t w = p - h * m.w, shift = m.ColShift(w);
    const int64_t begin = std::clamp<int64_t>(cols.begin - shift, 0, m.out.cols);
    const int64_t end = std::clamp<int64_t>(cols.end - shift, begin, m.out.cols);
    // The first part of a row writes the zeros before the run, the last those behind.
    const int64_t start = cols.begin == 0 ? 0 : begin;
    float* grid = image.out + p * m.out.size();
    float* line = tile.Line(p);
    LineWriter writer(grid + out_row + start, grid, image.stream, line);
    writer.AppendZeros(begin - start);
    writer.Append(tile.Row(p) + begin + shift - cols.begin, end - begin);
    if (cols.end == m.in.cols) writer.AppendZeros(m.out.cols - end);
    writer.Pause(line);
  }
}

// The rows of zeros before those that the input has of a pixel's grid.
void Begin(const Mapping& m, const Tensors& image, Range block, const Tile& tile) {
  for (int64_t p = block.begin; p < block.end; ++p) {
    LineWriter writer(image.out + p * m.out.size(), image.stream);
    writer.AppendZeros(m.OutRows(p / m.w).begin * m.out.cols);
    writer.Pause(tile.Line(p));
  }
}

// And those behind.
void End(const Mapping& m, const Tensors& image, Range block, const Tile& tile) {
  for (int64_t p = block.begin; p < block.end; ++p) {
    float* grid = image.out + p * m.out.size();
    const int64_t written = m.OutRows(p / m.w).end * m.out.cols;
    LineWriter writer(grid + written, grid, image.stream, tile.Line(p));
    writer.AppendZeros(m.out.size() - written);
    writer.Finish();
  }
}

// A block of pixels of one image.
void TransposeInBlock(const Mapping& m, const Tensors& image, Range block, const Tile& tile) {
  Begin(m, image, block, tile);
  for (int64_t row = 0; row < m.in.rows; ++row) {
    const Range rows = m.PixelRowsOfIn(row);
    const Range pixels = {std::max(block.begin, rows.begin * m.w),
                          std::min(block.end, rows.end * m.w)};
    const float* places = image.in + row * m.in.cols * m.pixels();
    for (int64_t col = 0; col < m.in.cols && pixels.count() > 0; col += kMostCols) {
      const Range cols = {col, std::min(col + kMostCols, m.in.cols)};
      TransposeRows(m, places, pixels, cols, tile);
      for (int64_t p = pixels.begin; p < pixels.end;) {
        const int64_t end = std::min((p / m.w + 1) * m.w, pixels.end);
        WriteRuns(m, image, row, {p, end}, cols, tile);
        p = end;
      }
    }
  }
  End(m, image, block, tile);
  if (image.stream) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(TransposeInBlock);

namespace {

// Splits n things into blocks of at most `most`, of equal length up to `unit`, a number of blocks
// that the threads share evenly.
struct Blocks {
  int64_t count, length;

  Blocks(int64_t n, int64_t most, int64_t unit, int threads) {
    const int64_t rounds = (n + most * threads - 1) / (most * threads);
    const int64_t even = (n + rounds * threads - 1) / (rounds * threads);
    length = (even + unit - 1) / unit * unit;
    count = (n + length - 1) / length;
  }
};

}  // namespace

void TransposeIn(const Mapping& m, const Tensors& tensors, CpuContext& context) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeInBlock);
  const int64_t stride = Tile::Stride(m.in.cols);
  const Blocks blocks(m.pixels(), std::clamp(kTileFloats / stride, kLine, kMostPixels), kLine,
                      context.threads().num_threads());
  const int64_t floats = Tile::Floats(blocks.length, stride);
  auto* scratch = static_cast<float*>(context.Scratch(
      static_cast<size_t>(floats * context.threads().num_threads()) * sizeof(float)));
  const int64_t work = blocks.length * m.out.size();
  context.threads().For(
      m.n * blocks.count, kGrain / work + 1, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t item = begin; item < end; ++item) {
          const int64_t first = item % blocks.count * blocks.length;
          const int64_t before = item / blocks.count * m.pixels();  // pixels of earlier images
          kernel(m,
                 {tensors.in + before * m.in.size(), tensors.out + before * m.out.size(),
                  tensors.stream},
                 {first, std::min(first + blocks.length, m.pixels())},
                 {first, blocks.length, stride, scratch + worker * floats});
        }
      });
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
