// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices, implementation "tiles": input, output or both are cell-major. A block
// copies some columns of one output row for some pixels through a tile of shared memory,
// [column][pixel]. So loads and stores are coalesced. Memory-bound: every element passes through
// shared memory once.
#include <algorithm>

#include "cuda/ptx.h"
#include "cuda/words.h"
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

// The longer side of a tile runs along the output. Its rows are padded: no access of a warp uses a
// bank more than twice. On the pixel-major side, lanes are columns of the tile (kPitch words apart);
// loads from cell-major memory are one pixel and one column apart (kPitch + 1 or kPitch - 1 words).
template <bool kInMajor, bool kOutMajor>
struct TilePolicy {
  static constexpr bool kInPixelMajor = kInMajor, kOutPixelMajor = kOutMajor;
  static constexpr int kPixels = kOutPixelMajor ? 64 : 128;
  static constexpr int kStoreRuns = 4;  // of kWarp elements; the first starts before the tile
  static constexpr int kMaxCols = kOutPixelMajor ? kStoreRuns * kWarp - (kSector - 1) : 64;
  static constexpr int kPitch = kPixels + (kInPixelMajor ? 1 : kOutPixelMajor ? 2 : 0);
};

struct Tiling {
  uint32_t tiles;
  Divider by_pixels, by_cols, by_rows;  // divide by the number of tiles along each axis
  int pixels, cols;                     // of a tile's output
  int overlap;                          // pixels before them that unaligned rows need
  uint32_t lead;                        // of the output
};

struct Tile {
  int image, row;
  int first_pixel, first_col;
  int cols;
  bool live;  // some pixel has an input row
};

// Returns whether some pixel of [begin, end) has an input row for the output's row. For masks
// larger than the feature map, half of the rows are zero for half of the pixels.
__device__ bool HasInRows(const Shape& s, int row, int begin, int end) {
  const int a = row + s.RowShift(s.by_width(max(begin, 0)).quotient);
  const int b = row + s.RowShift(s.by_width(min(end, s.pixels) - 1).quotient);
  return max(a, b) >= 0 && min(a, b) < s.in_rows;
}

// Consecutive blocks write consecutive memory.
template <class T>
__device__ Tile TileAt(const Shape& s, const Tiling& t, int index) {
  Divider::Result pixels, cols, rows;
  if constexpr (T::kOutPixelMajor) {
    cols = t.by_cols(index);
    rows = t.by_rows(cols.quotient);
    pixels = t.by_pixels(rows.quotient);
  } else {
    pixels = t.by_pixels(index);
    cols = t.by_cols(pixels.quotient);
    rows = t.by_rows(cols.quotient);
  }
  const int image = T::kOutPixelMajor ? pixels.quotient : rows.quotient;
  const int first_pixel = pixels.remainder * t.pixels - t.overlap;
  const int row = rows.remainder, first_col = cols.remainder * t.cols;
  const bool live = HasInRows(s, row, first_pixel, first_pixel + T::kPixels);
  return {image, row, first_pixel, first_col, min(t.cols, s.out_cols - first_col), live};
}

// A pixel of the tile and its input row.
struct TilePixel {
  int w;
  int in_row;
  bool live;  // the pixel exists and has an input row

  __device__ TilePixel(const Shape& s, const Tile& tile, int p) {
    const auto [h, column] = s.by_width(min(max(p, 0), s.pixels - 1));
    w = column;
    in_row = tile.row + s.RowShift(h);
    live = p >= 0 && p < s.pixels && s.HasInRow(in_row);
  }
};

// The source of a pixel's first column of the tile. Without an input row, in_col is out of range.
struct SourceStart {
  uint32_t from;
  int in_col;
};

template <class T>
__device__ void FindStarts(const Shape& s, const Tile& tile, SourceStart* starts) {
  if (threadIdx.x >= T::kPixels) return;
  const int p = tile.first_pixel + static_cast<int>(threadIdx.x);
  const TilePixel source(s, tile, p);
  const int in_col = tile.first_col + s.ColShift(source.w);
  const uint32_t from = static_cast<uint32_t>(tile.image * s.pixels + p) * s.in_size() +
                        static_cast<uint32_t>(source.in_row) * s.in_cols +
                        static_cast<uint32_t>(in_col);
  starts[threadIdx.x] = {from, source.live ? in_col : s.in_cols};
}

// A warp loads one pixel after the other, in kRuns runs of kWarp columns. The pixels' starts are
// computed once per block: computing them per warp would cost more instructions than the loads.
template <class T, int kRuns>
__device__ void LoadPixelMajor(const Shape& s, const Tile& tile, const SourceStart* starts,
                               const uint32_t* in, uint32_t* to) {
  constexpr int kPixelsPerBatch = std::min(kBatch / kRuns, T::kPixels / kWarps);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int first = warp; first < T::kPixels; first += kWarps * kPixelsPerBatch) {
    uint32_t value[kPixelsPerBatch][kRuns];
#pragma unroll
    for (int k = 0; k < kPixelsPerBatch; ++k) {
      const SourceStart start = starts[first + k * kWarps];
      const uint32_t* const from = in + static_cast<int32_t>(start.from + lane);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = lane + run * kWarp;
        const bool live = col < tile.cols && s.HasInCol(start.in_col + col);
        value[k][run] = live ? __ldg(from + run * kWarp) : 0;
      }
    }
#pragma unroll
    for (int k = 0; k < kPixelsPerBatch; ++k) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = lane + run * kWarp;
        if (col < tile.cols) to[col * T::kPitch + first + k * kWarps] = value[k][run];
      }
    }
  }
}

// Each thread loads one pixel. The lanes of a pixel row load the same input cell in one step, but
// it is a different output column in each. A lane is delayed by `wait` steps.
template <class T>
__device__ void LoadCellMajor(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  constexpr int kGroups = kThreads / T::kPixels;
  const int lane = threadIdx.x % kWarp, pixel = threadIdx.x % T::kPixels;
  const int width = s.by_width.divisor(), p = tile.first_pixel + pixel;
  const TilePixel source(s, tile, p);
  const int wait = s.sign > 0 ? min(width - 1 - source.w, kWarp - 1 - lane) : min(source.w, lane);
  const int steps = tile.cols + min(width, kWarp) - 1;
  const int shift = tile.first_col + s.ColShift(source.w);
  const uint32_t row = static_cast<uint32_t>(tile.image) * s.in_size() +
                       static_cast<uint32_t>(source.in_row) * s.in_cols;
  const auto inside = [&](int col) {
    return static_cast<uint32_t>(col) < static_cast<uint32_t>(tile.cols);
  };
  for (int step = threadIdx.x / T::kPixels; step < steps; step += kGroups * kBatch) {
    uint32_t value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int col = step + k * kGroups - wait, in_col = col + shift;
      const uint32_t from = (row + static_cast<uint32_t>(in_col)) * s.pixels + p;
      const bool live = source.live && inside(col) && s.HasInCol(in_col);
      value[k] = live ? __ldg(in + from) : 0;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int col = step + k * kGroups - wait;
      if (inside(col)) to[col * T::kPitch + pixel] = value[k];
    }
  }
}

// A warp stores one pixel after the other, in kRuns runs of kWarp elements that start at a sector.
// Rows end within sectors: a begun sector stays in the L2 until the block of the next row completes
// it.
template <class T, int kRuns>
__device__ void StorePixelMajor(const Shape& s, const Tiling& t, const Tile& tile,
                                const uint32_t* from, uint32_t* out) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int pixels = min(T::kPixels, s.pixels - tile.first_pixel);
  for (int pixel = warp; pixel < pixels; pixel += kWarps) {
    const uint32_t owner = tile.image * s.pixels + tile.first_pixel + pixel;
    const uint32_t row = owner * s.out_size() + static_cast<uint32_t>(tile.row) * s.out_cols +
                         static_cast<uint32_t>(tile.first_col);
    const int first = lane - static_cast<int>((t.lead + row) % kSector);
    StoreRuns<kRuns>(first, 0, tile.cols, out + row,
                     [=](int col) { return tile.live ? from[col * T::kPitch + pixel] : 0; });
  }
}

// A warp stores one column after the other. The tile owns whole sectors of each column's row of
// pixels. Where rows start within a sector, these are different pixels in every column; `overlap`
// pixels more are loaded for them.
template <class T>
__device__ void StoreCellMajor(const Shape& s, const Tiling& t, const Tile& tile,
                               const uint32_t* from, uint32_t* out) {
  constexpr int kRuns = T::kPixels / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t cell = tile.image * s.out_size() + static_cast<uint32_t>(tile.row) * s.out_cols +
                        static_cast<uint32_t>(tile.first_col);
  for (int col = warp; col < tile.cols; col += kWarps) {
    const uint32_t row = (cell + col) * s.pixels;
    const int skip = t.overlap - static_cast<int>((t.lead + row) % kSector);
    const int first = tile.first_pixel + skip;
    const int begin = max(-first, 0);
    const uint32_t count = max(min(t.pixels, s.pixels - first) - begin, 0);
    StoreRuns<kRuns>(lane, begin, count, out + (static_cast<int64_t>(row) + first),
                     [=](int i) { return tile.live ? from[col * T::kPitch + skip + i] : 0; });
  }
}

template <class T>
__device__ void LoadTile(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  if constexpr (!T::kInPixelMajor) {
    LoadCellMajor<T>(s, tile, in, to);
  } else {
    __shared__ SourceStart starts[T::kPixels];
    FindStarts<T>(s, tile, starts);
    __syncthreads();
    if (tile.cols <= kWarp) {
      LoadPixelMajor<T, 1>(s, tile, starts, in, to);
    } else {
      LoadPixelMajor<T, (T::kMaxCols + kWarp - 1) / kWarp>(s, tile, starts, in, to);
    }
  }
}

template <class T>
__device__ void StoreTile(const Shape& s, const Tiling& t, const Tile& tile, const uint32_t* from,
                          uint32_t* out) {
  if constexpr (!T::kOutPixelMajor) {
    StoreCellMajor<T>(s, t, tile, from, out);
  } else if (tile.cols <= T::kMaxCols - kWarp) {
    StorePixelMajor<T, T::kStoreRuns - 1>(s, t, tile, from, out);
  } else {
    StorePixelMajor<T, T::kStoreRuns>(s, t, tile, from, out);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    CopyTile(Shape s, Tiling t, const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
  auto* const words = DynamicShared<uint32_t>();
  for (uint32_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
    const Tile tile = TileAt<T>(s, t, static_cast<int>(i));
    if (tile.live) LoadTile<T>(s, tile, in, words);
    __syncthreads();
    StoreTile<T>(s, t, tile, words, out);
    __syncthreads();
  }
}

template <class T>
void Launch(const PsamaskCall& call) {
  const Problem& p = call.p;
  const CudaTensors tensors = TensorsOf(call);
  const bool aligned =
      T::kOutPixelMajor || (p.pixels() % kSector == 0 && tensors.lead % kSector == 0);
  const int overlap = aligned ? 0 : kSector, pixels = T::kPixels - overlap;
  const int64_t along_pixels = CeilDiv(p.pixels() + (aligned ? 0 : kSector - 1), pixels);
  // Equal numbers of columns: a last tile with few columns would take as long as a full one.
  const int64_t cols = CeilDiv(p.out.cols, CeilDiv(p.out.cols, T::kMaxCols));
  const int64_t along_cols = CeilDiv(p.out.cols, cols);
  const int64_t tiles = p.n * p.out.rows * along_pixels * along_cols;
  const Divider by_pixels(along_pixels), by_cols(along_cols), by_rows(p.out.rows);
  const Tiling tiling = {static_cast<uint32_t>(tiles), by_pixels, by_cols,     by_rows, pixels,
                         static_cast<int>(cols),       overlap,   tensors.lead};
  const Grid grid = {tiles, kThreads, static_cast<size_t>(cols) * T::kPitch * sizeof(uint32_t)};
  call.context.Launch(CopyTile<T>, grid, ShapeOf(p), tiling, tensors.in, tensors.out);
}

}  // namespace

mluOpStatus_t CopyTiles(const PsamaskCall& call, void*) {
  if (call.p.in_pixel_major) {
    Launch<TilePolicy<true, false>>(call);
  } else {
    call.p.out_pixel_major ? Launch<TilePolicy<false, true>>(call)
                           : Launch<TilePolicy<false, false>>(call);
  }
  return call.context.status();
}

}  // namespace mluop::psamask
