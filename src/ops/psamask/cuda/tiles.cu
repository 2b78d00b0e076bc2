// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices where a tensor is stored by places: a block takes some columns of one
// output row for some pixels through a tile of shared memory, [column][pixel], so that both sides
// of the copy run along memory. Bound by bytes: shared memory is passed once.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

// Elements a thread loads before it puts the first one down: 0.97 of the time of 8.
constexpr int kBatch = 16;

// A tile is long along the output. Its rows are padded so that no access of a warp meets a bank
// more than twice. Lanes are columns of it where a tensor is by pixels (a step of kPitch words),
// and on the way in from places one pixel and one column apart (kPitch + 1 or kPitch - 1 words).
template <bool kByPixelsIn, bool kByPixelsOut>
struct TileOf {
  static constexpr bool kInByPixels = kByPixelsIn, kOutByPixels = kByPixelsOut;
  static constexpr int kPixels = kOutByPixels ? 64 : 128;
  static constexpr int kStoreRuns = 4;  // of lanes, of which the first begins before the tile
  static constexpr int kMostCols = kOutByPixels ? kStoreRuns * kWarp - (kSector - 1) : 64;
  static constexpr int kPitch = kPixels + (kInByPixels ? 1 : kOutByPixels ? 2 : 0);
};

struct Tiling {
  uint32_t tiles;
  Divider by_pixels, by_cols, by_rows;  // how many tiles there are along each
  int pixels, cols;                     // of a tile's output
  int reach;                            // pixels before those, as the rows' alignment demands
  uint32_t lead;                        // ElementAddress(out)
};

struct Tile {
  int image, row;
  int first_pixel, first_col;
  int cols;
  bool live;  // any pixel has an input row
};

// Whether any of the pixels [begin, end) has an input row for the output's row. Of a mask larger
// than the feature, half the rows are zeros for half the pixels.
__device__ bool HasInRows(const Shape& s, int row, int begin, int end) {
  const int a = row + s.RowShift(s.by_width(max(begin, 0)).quotient);
  const int b = row + s.RowShift(s.by_width(min(end, s.pixels) - 1).quotient);
  return max(a, b) >= 0 && min(a, b) < s.in_rows;
}

// Neighbouring blocks write neighbouring memory.
template <class T>
__device__ Tile TileAt(const Shape& s, const Tiling& t, int index) {
  Divider::Result pixels, cols, rows;
  if constexpr (T::kOutByPixels) {
    cols = t.by_cols(index);
    rows = t.by_rows(cols.quotient);
    pixels = t.by_pixels(rows.quotient);
  } else {
    pixels = t.by_pixels(index);
    cols = t.by_cols(pixels.quotient);
    rows = t.by_rows(cols.quotient);
  }
  const int image = T::kOutByPixels ? pixels.quotient : rows.quotient;
  const int first_pixel = pixels.remainder * t.pixels - t.reach;
  const int row = rows.remainder, first_col = cols.remainder * t.cols;
  const bool live = HasInRows(s, row, first_pixel, first_pixel + T::kPixels);
  return {image, row, first_pixel, first_col, min(t.cols, s.out_cols - first_col), live};
}

// A pixel of the tile: where its input row is.
struct Source {
  int w;
  int in_row;
  bool live;  // there is such a pixel, and it has such a row

  __device__ Source(const Shape& s, const Tile& tile, int p) {
    const auto [h, column] = s.by_width(min(max(p, 0), s.pixels - 1));
    w = column;
    in_row = tile.row + s.RowShift(h);
    live = p >= 0 && p < s.pixels && s.HasInRow(in_row);
  }
};

// Where the tile's first column of a pixel comes from. Without an input row, in_col lies beyond it.
struct Start {
  uint32_t from;
  int in_col;
};

template <class T>
__device__ void FindStarts(const Shape& s, const Tile& tile, Start* starts) {
  if (threadIdx.x >= T::kPixels) return;
  const int p = tile.first_pixel + static_cast<int>(threadIdx.x);
  const Source source(s, tile, p);
  const int in_col = tile.first_col + s.ColShift(source.w);
  const uint32_t from = static_cast<uint32_t>(tile.image * s.pixels + p) * s.in_size() +
                        static_cast<uint32_t>(source.in_row) * s.in_cols +
                        static_cast<uint32_t>(in_col);
  starts[threadIdx.x] = {from, source.live ? in_col : s.in_cols};
}

// A warp takes pixel after pixel, its lanes the columns, in kRuns runs of lanes. The pixels' starts
// are found once: each costs a warp more instructions than its loads do.
template <class T, int kRuns>
__device__ void LoadByPixels(const Shape& s, const Tile& tile, const Start* starts,
                             const uint32_t* in, uint32_t* to) {
  constexpr int kTogether = kBatch / kRuns;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int first = warp; first < T::kPixels; first += kWarps * kTogether) {
    uint32_t value[kTogether][kRuns];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const Start start = starts[first + k * kWarps];
      const uint32_t* const from = in + static_cast<int32_t>(start.from + lane);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = lane + run * kWarp;
        const bool live = col < tile.cols && s.HasInCol(start.in_col + col);
        value[k][run] = live ? __ldg(from + run * kWarp) : 0;
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = lane + run * kWarp;
        if (col < tile.cols) to[col * T::kPitch + first + k * kWarps] = value[k][run];
      }
    }
  }
}

// A thread keeps its pixel, and the lanes of a pixel row walk through the same places of the input,
// which are different columns of the output: each begins `wait` steps after the first of them.
template <class T>
__device__ void LoadByPlaces(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  constexpr int kGroups = kThreads / T::kPixels;
  const int lane = threadIdx.x % kWarp, pixel = threadIdx.x % T::kPixels;
  const int width = s.by_width.divisor(), p = tile.first_pixel + pixel;
  const Source source(s, tile, p);
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

// A warp takes pixel after pixel, in kRuns runs of lanes from a sector's begin on. Rows end within
// sectors: these stay in the L2 until the block of the next row completes them.
template <class T, int kRuns>
__device__ void StoreByPixels(const Shape& s, const Tiling& t, const Tile& tile,
                              const uint32_t* from, uint32_t* out) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int pixels = min(T::kPixels, s.pixels - tile.first_pixel);
  for (int pixel = warp; pixel < pixels; pixel += kWarps) {
    const uint32_t owner = tile.image * s.pixels + tile.first_pixel + pixel;
    const uint32_t row = owner * s.out_size() + static_cast<uint32_t>(tile.row) * s.out_cols +
                         static_cast<uint32_t>(tile.first_col);
    const int first = lane - static_cast<int>((t.lead + row) % kSector);
    uint32_t value[kRuns];
    bool mine[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int col = first + run * kWarp;
      mine[run] = static_cast<uint32_t>(col) < static_cast<uint32_t>(tile.cols);
      value[run] = mine[run] && tile.live ? from[col * T::kPitch + pixel] : 0;
    }
    uint32_t* to = out + (static_cast<int64_t>(row) + first);
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      if (mine[run]) to[run * kWarp] = value[run];
    }
  }
}

// A warp takes column after column. The tile owns whole sectors of each column's row of pixels:
// where rows begin within a sector, they are other pixels from column to column, and `reach` holds
// them.
template <class T>
__device__ void StoreByPlaces(const Shape& s, const Tiling& t, const Tile& tile,
                              const uint32_t* from, uint32_t* out) {
  constexpr int kRuns = T::kPixels / kWarp;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const uint32_t place = tile.image * s.out_size() + static_cast<uint32_t>(tile.row) * s.out_cols +
                         static_cast<uint32_t>(tile.first_col);
  for (int col = warp; col < tile.cols; col += kWarps) {
    const uint32_t row = (place + col) * s.pixels;
    const int skip = t.reach - static_cast<int>((t.lead + row) % kSector);
    const int first = tile.first_pixel + skip;
    const int begin = max(-first, 0);
    const uint32_t count = max(min(t.pixels, s.pixels - first) - begin, 0);
    uint32_t value[kRuns];
    bool mine[kRuns];
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int i = lane + run * kWarp;
      mine[run] = static_cast<uint32_t>(i - begin) < count;
      value[run] = mine[run] && tile.live ? from[col * T::kPitch + skip + i] : 0;
    }
    uint32_t* to = out + (static_cast<int64_t>(row) + first + lane);
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      if (mine[run]) to[run * kWarp] = value[run];
    }
  }
}

template <class T>
__device__ void LoadTile(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  if constexpr (!T::kInByPixels) {
    LoadByPlaces<T>(s, tile, in, to);
  } else {
    __shared__ Start starts[T::kPixels];
    FindStarts<T>(s, tile, starts);
    __syncthreads();
    if (tile.cols <= kWarp) {
      LoadByPixels<T, 1>(s, tile, starts, in, to);
    } else {
      LoadByPixels<T, T::kMostCols / kWarp>(s, tile, starts, in, to);
    }
  }
}

template <class T>
__device__ void StoreTile(const Shape& s, const Tiling& t, const Tile& tile, const uint32_t* from,
                          uint32_t* out) {
  if constexpr (!T::kOutByPixels) {
    StoreByPlaces<T>(s, t, tile, from, out);
  } else if (tile.cols <= T::kMostCols - kWarp) {
    StoreByPixels<T, T::kStoreRuns - 1>(s, t, tile, from, out);
  } else {
    StoreByPixels<T, T::kStoreRuns>(s, t, tile, from, out);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    CopyTiles(Shape s, Tiling t, const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
  extern __shared__ uint32_t words[];
  for (uint32_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
    const Tile tile = TileAt<T>(s, t, static_cast<int>(i));
    if (tile.live) LoadTile<T>(s, tile, in, words);
    __syncthreads();
    StoreTile<T>(s, t, tile, words, out);
    __syncthreads();
  }
}

template <class T>
void Launch(const Mapping& m, const CudaTensors& tensors, CudaContext& context) {
  const uint32_t lead = ElementAddress(tensors.out);
  const bool aligned = T::kOutByPixels || (m.pixels() % kSector == 0 && lead % kSector == 0);
  const int reach = aligned ? 0 : kSector, pixels = T::kPixels - reach;
  const int64_t along_pixels = CeilDiv(m.pixels() + (aligned ? 0 : kSector - 1), pixels);
  // Columns in equal shares: a last tile of few would cost as much as a full one.
  const int64_t cols = CeilDiv(m.out.cols, CeilDiv(m.out.cols, T::kMostCols));
  const int64_t along_cols = CeilDiv(m.out.cols, cols);
  const int64_t tiles = m.n * m.out.rows * along_pixels * along_cols;
  const Divider by_pixels(along_pixels), by_cols(along_cols), by_rows(m.out.rows);
  const Tiling tiling = {static_cast<uint32_t>(tiles), by_pixels, by_cols, by_rows, pixels,
                         static_cast<int>(cols),       reach,     lead};
  const mluop::Grid grid = {tiles, kThreads,
                            static_cast<size_t>(cols) * T::kPitch * sizeof(uint32_t)};
  context.Launch(CopyTiles<T>, grid, ShapeOf(m), tiling, tensors.in, tensors.out);
}

}  // namespace

void CopyTilesCuda(const Mapping& m, const CudaTensors& tensors, const Storage& storage,
                   CudaContext& context) {
  if (storage.in_by_pixels) {
    Launch<TileOf<true, false>>(m, tensors, context);
  } else if (storage.out_by_pixels) {
    Launch<TileOf<false, true>>(m, tensors, context);
  } else {
    Launch<TileOf<false, false>>(m, tensors, context);
  }
}

}  // namespace mluop::psamask
