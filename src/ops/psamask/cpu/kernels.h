// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: the implementations' functions and what they share. problem.h defines
// pixel-major and cell-major.
//
// A band is the range of pixels that a worker processes at a time. A row of a cell-major output
// holds one cell of all pixels, H*W floats, and starts anywhere in a cache line. A band writes the
// lines that start in it, so its last line extends into the next band.
#pragma once

#include <algorithm>

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/psamask/cpu/tuning.h"
#include "ops/psamask/problem.h"

namespace mluop::psamask {

using PsamaskCall = CpuCall<Problem>;

constexpr int64_t kLine = 16;  // floats of a cache line

struct Tensors {
  const float* in;
  float* out;
  bool stream;  // writes the output with non-temporal stores
};

inline Tensors TensorsOf(const PsamaskCall& call) {
  return {static_cast<const float*>(call.arguments.tensors[0].data),
          static_cast<float*>(call.arguments.tensors[1].data),
          ShouldStream(static_cast<size_t>(call.p.out_count()) * sizeof(float))};
}

// Pixel-major to pixel-major: copies rows of the grids.
mluOpStatus_t CopyRows(const PsamaskCall& call, void* scratch);

// Cell-major to pixel-major: transposes a row of the input's grids into a tile, then copies rows.
size_t TransposeLoadScratch(const PsamaskCall& call);
mluOpStatus_t TransposeLoad(const PsamaskCall& call, void* scratch);
void DescribeTransposeLoad(const PsamaskCall& call, Plan& plan);

// Pixel-major to cell-major: transposes squares between loads and stores.
mluOpStatus_t TransposeStore(const PsamaskCall& call, void* scratch);

// Cell-major to cell-major: shifts the column of cells of every pixel by the pixel's own distance.
mluOpStatus_t Skew(const PsamaskCall& call, void* scratch);

// Any order: copies element by element.
mluOpStatus_t CopyElements(const PsamaskCall& call, void* scratch);
mluOpStatus_t CopyDoubles(const PsamaskCall& call, void* scratch);

// A worker's scratch in "transpose_load": the columns `cols` of one row of the input's grids, [pixel][column], and per
// pixel the output's line that it has begun.
struct LoadTile {
  Range pixels;  // of the band
  Range cols;
  float* data;

  int64_t stride() const { return WholeLines(cols.count()); }
  float* Line(int64_t pixel) const { return data + (pixel - pixels.begin) * kLine; }
  // Whole squares are stored: one line of pixels before the band and one after it exist.
  float* At(int64_t pixel, int64_t col) const {
    return data + pixels.count() * kLine + (pixel - pixels.begin + kLine) * stride() + col -
           cols.begin;
  }
  int64_t Floats() const {
    return pixels.count() * kLine + (pixels.count() + 2 * kLine) * stride();
  }
};

// A worker's scratch in the others: a tile, [column][pixel]. Columns lie an odd number of lines apart, so that
// the columns of a square map to different cache sets.
constexpr int64_t kTileStride = kBandPixels + 3 * kLine;
static_assert(kTileStride / kLine % 2 == 1);

inline int64_t TileFloats(const Problem& p) {
  return std::min(WholeLines(p.out.cols), kTileCols) * kTileStride;
}

// Some pixels of an image, and rows of their output grids.
struct Band {
  int64_t image;
  Range pixels, rows;
};

// The pixels that the band writes in the row at `to`: its lines, and the ends of the row.
inline Range LinesOf(const float* to, Range band, int64_t pixels) {
  const auto align = [&](int64_t pixel) {
    const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to + pixel) / sizeof(float));
    return std::min(pixel + (kLine - at % kLine) % kLine, pixels);
  };
  return {band.begin == 0 ? 0 : align(band.begin), align(band.end)};
}

// Calls body(band, worker) on bands of `length` pixels. Several workers may share the `rows` rows
// of a band; each gets many rows of it.
template <class Body>
void ForEachBand(const Problem& p, ThreadPool& threads, int64_t length, int64_t rows,
                 const Body& body) {
  const int64_t bands = (p.pixels() + length - 1) / length;
  const int64_t work = std::min(length, p.pixels()) * p.out.size() / rows;  // of a row
  threads.For(p.n * bands * rows, kGrain / work + 1, [&](int64_t begin, int64_t end, int worker) {
    while (begin < end) {
      const int64_t band = begin / rows, row = begin % rows;
      const int64_t last = std::min(rows, row + end - begin), first = band % bands * length;
      body(Band{band / bands, {first, std::min(first + length, p.pixels())}, {row, last}}, worker);
      begin += last - row;
    }
  });
}

// Calls kernel(p, tensors, band, tile) on bands of kBandPixels pixels and some of their rows.
template <class Kernel>
mluOpStatus_t RunOnTiles(const PsamaskCall& call, const Kernel& kernel, void* scratch) {
  const Problem& p = call.p;
  const Tensors tensors = TensorsOf(call);
  ForEachBand(p, call.context.threads(), kBandPixels, p.out.rows,
              [&](const Band& band, int worker) {
                kernel(p, tensors, band, static_cast<float*>(scratch) + worker * TileFloats(p));
              });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psamask
