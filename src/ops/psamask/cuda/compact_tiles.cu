// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices, implementation "compact_tiles": cell-major input, pixel-major output.
// The input's rows are at most as long as the output's (backward with masks at least as large as
// the feature map). A block copies one or two output rows of some pixels through a tile of shared
// memory, [input cell][pixel]. The tile holds only cells of the input; the store adds the zeros
// around them.
#include "cuda/ptx.h"
#include "cuda/words.h"
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

constexpr int kPixels = 64;  // of a tile
// Odd: lanes one pixel apart and lanes one cell apart access different banks.
constexpr int kPitch = kPixels + 1;
constexpr int kRuns = 4;  // of kWarp elements that a warp stores at a time
static_assert(kTwoRowCols == 2 * kRuns * kWarp - (kSector - 1));

struct Tiling {
  uint32_t tiles;
  Divider by_rows, by_pixels;  // divide by the number of tiles along each axis
  int rows;                    // of a tile
  uint32_t lead;               // of the output
};

struct Tile {
  int image, first_pixel;
  int first_row, rows;
  bool live;  // some pixel has an input row
};

// Consecutive blocks write consecutive memory.
__device__ Tile TileAt(const Shape& s, const Tiling& t, int index) {
  const auto [column, row] = t.by_rows(index);
  const auto [image, pixel] = t.by_pixels(column);
  const int first_row = row * t.rows, rows = min(t.rows, s.out_rows - first_row);
  const int first_pixel = pixel * kPixels, last_pixel = min(first_pixel + kPixels, s.pixels) - 1;
  const int a = first_row + s.RowShift(s.by_width(first_pixel).quotient);
  const int b = first_row + s.RowShift(s.by_width(last_pixel).quotient);
  return {image, first_pixel, first_row, rows, max(a, b) + rows > 0 && min(a, b) < s.in_rows};
}

// Each thread loads one pixel. The cells of consecutive rows are consecutive in the input; outside
// of the input's rows they are zero.
__device__ void LoadTile(const Shape& s, const Tile& tile, const uint32_t* in, uint32_t* to) {
  constexpr int kGroups = kThreads / kPixels;
  const int pixel = threadIdx.x % kPixels, p = min(tile.first_pixel + pixel, s.pixels - 1);
  const int in_row = tile.first_row + s.RowShift(s.by_width(p).quotient);
  const auto first_cell = static_cast<uint32_t>(in_row) * s.in_cols;
  const int cells = tile.rows * s.in_cols;
  const uint32_t* const from = in + static_cast<int64_t>(tile.image) * s.in_size() * s.pixels + p;
  for (int first = threadIdx.x / kPixels; first < cells; first += kGroups * kBatch) {
    uint32_t value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + k * kGroups;
      const uint32_t at = first_cell + static_cast<uint32_t>(i);
      const bool live = i < cells && at < s.in_size();
      value[k] = live ? __ldg(from + at * static_cast<uint32_t>(s.pixels)) : 0;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int i = first + k * kGroups;
      if (i < cells) to[i * kPitch + pixel] = value[k];
    }
  }
}

// A warp stores one pixel after the other, in runs of kWarp elements that start at a sector. Rows end
// within sectors: a partially written sector stays in L2 until the block of the next row completes
// it.
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
      StoreRuns<kRuns>(first, 0, cols, to, [=, &s](int col) {
        // The second row follows the first one in the output and in the tile.
        const int begin = kRows > 1 && col >= s.out_cols ? s.out_cols : 0;
        const int in_col = col - begin + shift;
        const int cell = in_col + (begin > 0 ? s.in_cols : 0);
        return s.HasInCol(in_col) && tile.live ? column[cell * kPitch] : 0;
      });
    }
  }
}

template <int kRows>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    CopyCompact(Shape s, Tiling t, const uint32_t* __restrict__ in, uint32_t* __restrict__ out) {
  auto* const words = DynamicShared<uint32_t>();
  for (uint32_t i = blockIdx.x; i < t.tiles; i += gridDim.x) {
    const Tile tile = TileAt(s, t, static_cast<int>(i));
    if (tile.live) LoadTile(s, tile, in, words);
    __syncthreads();
    StoreTile<kRows>(s, t, tile, words, out);
    __syncthreads();
  }
}

}  // namespace

mluOpStatus_t CopyCompactTiles(const PsamaskCall& call, void*) {
  const Problem& p = call.p;
  const CudaTensors tensors = TensorsOf(call);
  const int64_t most = std::min(kTwoRowCols / p.out.cols, kTileCells / p.in.cols);
  const int64_t rows = p.out.rows > 1 && most > 1 ? 2 : 1;
  const int64_t along_rows = CeilDiv(p.out.rows, rows), along_pixels = CeilDiv(p.pixels(), kPixels);
  const int64_t tiles = p.n * along_rows * along_pixels;
  const Tiling tiling = {static_cast<uint32_t>(tiles), Divider(along_rows), Divider(along_pixels),
                         static_cast<int>(rows), tensors.lead};
  const Grid grid = {tiles, kThreads,
                     static_cast<size_t>(rows * p.in.cols) * kPitch * sizeof(uint32_t)};
  call.context.Launch(rows == 1 ? CopyCompact<1> : CopyCompact<2>, grid, ShapeOf(p), tiling,
                      tensors.in, tensors.out);
  return call.context.status();
}

}  // namespace mluop::psamask
