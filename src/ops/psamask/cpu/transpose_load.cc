// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU, implementation "transpose_load": the input is cell-major, the output
// pixel-major. The loop over the rows of the input's grids is inside the loop over bands of pixels.
// Each row is transposed into a tile, and each pixel's columns are copied from it. This touches few
// pages: long runs of the input's rows, and one page of the output per pixel. A partially written
// output line is saved until the pixel's next row.
#include "ops/psamask/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu/transpose_load.cc"
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

// tile.At(pixel, c) = from[c][pixel]. The last square of pixels or columns starts earlier: it
// overlaps the previous square.
void TransposeRow(const Problem& p, const float* from, Range pixels, const LoadTile& tile) {
  const SquareTag d;
  const int64_t stride = tile.stride();
  for (int64_t col = tile.cols.begin; col < tile.cols.end; col += kSquare) {
    const int64_t c = std::max(std::min(col, tile.cols.end - kSquare), tile.cols.begin);
    const int64_t count = tile.cols.end - c;
    for (int64_t next = pixels.begin; next < pixels.end; next += kSquare) {
      const int64_t pixel = std::max<int64_t>(std::min(next, pixels.end - kSquare), 0);
      const float* at = from + c * p.pixels() + pixel;
      hn::Vec<SquareTag> v[kSquare];
      for (int k = 0; k < kSquare; ++k) {
        v[k] = k < count ? hn::LoadU(d, at + k * p.pixels()) : hn::Zero(d);
        hwy::Prefetch(at + (k + kSquare) * p.pixels());
      }
      simd::TransposeSquare(d, v);
      float* to = tile.At(pixel, c);
      for (int k = 0; k < kSquare; ++k) hn::StoreU(v[k], d, to + k * stride);
    }
  }
}

// Copies row in_row of the input's grids from the tile to some pixels of one pixel row. The first
// row that a grid receives follows the grid's leading zeros, the last one precedes its trailing
// zeros.
void WriteRow(const Problem& p, const Tensors& image, int64_t in_row, Range pixels,
              const LoadTile& tile) {
  const int64_t h = pixels.begin / p.w, row = in_row - p.RowShift(h);
  const Range rows = p.OutRows(h);
  const int64_t before = row == rows.begin ? row * p.out.cols : 0;
  const bool last = row + 1 == rows.end;
  const int64_t after = last ? (p.out.rows - rows.end) * p.out.cols : 0;
  for (int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
    const int64_t w = pixel - h * p.w;
    const Range cols = p.OutCols(w);
    float* const grid = image.out + pixel * p.out.size();
    float* const line = tile.Line(pixel);
    simd::LineWriter writer(grid + row * p.out.cols - before, grid, image.stream,
                            row == rows.begin ? nullptr : line);
    writer.AppendZeros(before + cols.begin);
    writer.Append(tile.At(pixel, cols.begin + p.ColShift(w)), cols.count());
    writer.AppendZeros(p.out.cols - cols.end + after);
    last ? writer.Finish() : writer.Pause(line);
  }
}

void TransposeLoadBand(const Problem& p, const Tensors& tensors, int64_t n, const LoadTile& tile) {
  const Tensors image = {tensors.in + n * p.pixels() * p.in.size(),
                         tensors.out + n * p.pixels() * p.out.size(), tensors.stream};
  for (int64_t row = 0; row < p.in.rows; ++row) {
    const Range hs = p.PixelRowsOfIn(row);
    const Range pixels = {std::max(tile.pixels.begin, hs.begin * p.w),
                          std::min(tile.pixels.end, hs.end * p.w)};
    if (pixels.count() <= 0) continue;
    TransposeRow(p, image.in + row * p.in.cols * p.pixels(), pixels, tile);
    for (int64_t pixel = pixels.begin; pixel < pixels.end;) {
      const int64_t end = std::min((pixel / p.w + 1) * p.w, pixels.end);
      WriteRow(p, image, row, {pixel, end}, tile);
      pixel = end;
    }
  }
  if (image.stream) hwy::FlushStream();
}

}  // namespace
}  // namespace mluop::psamask::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {

HWY_EXPORT(TransposeLoadBand);

namespace {

// Returns the input columns in use. The first and last pixels of a row bound them.
Range UsedCols(const Problem& p) {
  const int64_t last = p.w - 1;
  const Range a = p.OutCols(0), b = p.OutCols(last);
  return {std::min(a.begin + p.ColShift(0), b.begin + p.ColShift(last)),
          std::max(a.end + p.ColShift(0), b.end + p.ColShift(last))};
}

// Every worker gets the same number of bands, of whole lines of pixels.
LoadTile FirstTile(const PsamaskCall& call) {
  const Problem& p = call.p;
  const int64_t threads = call.context.threads().num_threads();
  const Range cols = UsedCols(p);
  const int64_t most =
      std::clamp(kLoadTileFloats / WholeLines(cols.count()), kLine, kLoadPixels) * threads;
  const int64_t rounds = (p.pixels() + most - 1) / most * threads;
  return {{0, WholeLines((p.pixels() + rounds - 1) / rounds)}, cols, nullptr};
}

}  // namespace

size_t TransposeLoadScratch(const PsamaskCall& call) {
  return call.context.PerWorkerBytes(FirstTile(call).Floats());
}

mluOpStatus_t TransposeLoad(const PsamaskCall& call, void* scratch) {
  const auto kernel = HWY_DYNAMIC_DISPATCH(TransposeLoadBand);
  const Problem& p = call.p;
  const Tensors tensors = TensorsOf(call);
  const LoadTile tile = FirstTile(call);
  ForEachBand(p, call.context.threads(), tile.pixels.count(), 1, [&](const Band& band, int worker) {
    kernel(p, tensors, band.image,
           {band.pixels, tile.cols, static_cast<float*>(scratch) + worker * tile.Floats()});
  });
  return MLUOP_STATUS_SUCCESS;
}

void DescribeTransposeLoad(const PsamaskCall& call, Plan& plan) {
  const LoadTile tile = FirstTile(call);
  plan.Add("tile %" PRId64 " pixels of %" PRId64 " columns", tile.pixels.count(),
           tile.cols.count());
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
