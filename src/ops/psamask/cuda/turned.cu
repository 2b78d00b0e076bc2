// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices from places to pixels, where the input's rows are no longer than the
// output's (backward of masks as large as the feature or larger): a block takes one or two output
// rows of some pixels through a tile of shared memory, [input place][pixel]. Of the output's columns
// it holds those alone that the input has; the store puts zeros around them.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

constexpr int kPixels = 64;  // of a tile
// Odd: lanes one pixel apart and lanes one place apart meet different banks.
constexpr int kPitch = kPixels + 1;
// Elements a thread loads before it puts the first one down: 0.97 of the time of 8.
constexpr int kBatch = 16;
constexpr int kRuns = 4;  // of lanes that a warp stores at a time
// Output columns of a tile of two rows, whose runs of memory have half as many ends within sectors:
// 0.95 of the time of one row at 119 columns.
constexpr int kMostCols = 2 * kRuns * kWarp - (kSector - 1);
constexpr int kMostPlaces = 180;  // of a tile: 46 KiB

struct Tiling {
  uint32_t tiles;
  Divider by_rows, by_pixels;  // how many tiles there are along each
  int rows;                    // of a tile
  uint32_t lead;               // ElementAddress(out)
};

struct Tile {
  int image, first_pixel;
  int first_row, rows;
  bool live;  // any pixel has an input row
};

// Neighbouring blocks write neighbouring memory.
__device__ Tile TileAt(const Shape& s, const Tiling& t, int index) {
  const auto [strip, row] = t.by_rows(index);
  const auto [image, pixel] = t.by_pixels(strip);
  const int first_row = row * t.rows, rows = min(t.rows, s.out_rows - first_row);
  const int first_pixel = pixel * kPixels, last_pixel = min(first_pixel + kPixels, s.pixels) - 1;
  const int a = first_row + s.RowShift(s.by_width(first_pixel).quotient);
  const int b = first_row + s.RowShift(s.by_width(last_pixel).quotient);
  return {image, first_pixel, first_row, rows, max(a, b) + rows > 0 && min(a, b) < s.in_rows};
}

// A thread keeps its pixel. The rows' places follow one another in the input; those before its first
// row or after its last are zeros.
__device__ void LoadTile(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  constexpr int kGroups = kThreads / kPixels;
  const int pixel = threadIdx.x % kPixels, p = min(tile.first_pixel + pixel, s.pixels - 1);
  const int in_row = tile.first_row + s.RowShift(s.by_width(p).quotient);
  const auto place = static_cast<uint32_t>(in_row) * s.in_cols;
  const int places = tile.rows * s.in_cols;
  const uint32_t* const from = in + static_cast<int64_t>(tile.image) * s.in_size() * s.pixels + p;
  for (int first = threadIdx.x / kPixels; first < places; first += kGroups * kBatch) {
    uint32_t value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + k * kGroups;
      const uint32_t at = place + static_cast<uint32_t>(i);
      const bool live = i < places && at < s.in_size();
      value[k] = live ? __ldg(from + at * static_cast<uint32_t>(s.pixels)) : 0;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + k * kGroups;
      if (i < places) to[i * kPitch + pixel] = value[k];
    }
  }
}

// A warp takes pixel after pixel, in runs of lanes from a sector's begin on. Rows end within
// sectors: these stay in the L2 until the block of the next row completes them.
template <int kRows>
__device__ void StoreTile(const Shape& s, const Tiling& t, const Tile& tile, const uint32_t* from,
                          uint32_t* out) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int pixels = min(kPixels, s.pixels - tile.first_pixel);
  const int cols = tile.rows * s.out_cols;
  for (int pixel = warp; pixel < pixels; pixel += kWarps) {
    const int p = tile.first_pixel + pixel, shift = s.ColShift(s.by_width(p).remainder);
    const uint32_t row = static_cast<uint32_t>(tile.image * s.pixels + p) * s.out_size() +
                         static_cast<uint32_t>(tile.first_row) * s.out_cols;
    uint32_t* const to = out + row;
    const uint32_t* const column = from + pixel;
    for (int first = lane - static_cast<int>((t.lead + row) % kSector); first < cols;
         first += kRuns * kWarp) {
      uint32_t value[kRuns];
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = first + run * kWarp;
        // The second row's columns follow the first one's here and in the tile.
        const int begin = kRows > 1 && col >= s.out_cols ? s.out_cols : 0;
        const int in_col = col - begin + shift;
        const int place = in_col + (begin > 0 ? s.in_cols : 0);
        const bool live = static_cast<uint32_t>(in_col) < static_cast<uint32_t>(s.in_cols);
        value[run] = live && tile.live && col >= 0 && col < cols ? column[place * kPitch] : 0;
      }
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const int col = first + run * kWarp;
        if (col >= 0 && col < cols) to[col] = value[run];
      }
    }
  }
}

template <int kRows>
__global__ void __launch_bounds__(kThreads, kBlocks)
    CopyTurned(Shape s, Tiling t, const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
  extern __shared__ uint32_t words[];
  for (uint32_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
    const Tile tile = TileAt(s, t, static_cast<int>(i));
    if (tile.live) LoadTile(s, tile, in, words);
    __syncthreads();
    StoreTile<kRows>(s, t, tile, words, out);
    __syncthreads();
  }
}

}  // namespace

bool FitsTurned(const Mapping& m) { return m.in.cols <= m.out.cols && m.in.cols <= kMostPlaces; }

void CopyTurnedCuda(const Mapping& m, const CudaTensors& tensors, CudaContext& context) {
  const int64_t most = std::min(kMostCols / m.out.cols, kMostPlaces / m.in.cols);
  const int64_t rows = m.out.rows > 1 && most > 1 ? 2 : 1;
  const int64_t along_rows = CeilDiv(m.out.rows, rows), along_pixels = CeilDiv(m.pixels(), kPixels);
  const Tiling tiling = {static_cast<uint32_t>(m.n * along_rows * along_pixels),
                         Divider(along_rows), Divider(along_pixels), static_cast<int>(rows),
                         ElementAddress(tensors.out)};
  const mluop::Grid grid = {m.n * along_rows * along_pixels, kThreads,
                            static_cast<size_t>(rows * m.in.cols) * kPitch * sizeof(uint32_t)};
  context.Launch(rows == 1 ? CopyTurned<1> : CopyTurned<2>, grid, ShapeOf(m), tiling, tensors.in,
                 tensors.out);
}

}  // namespace mluop::psamask
