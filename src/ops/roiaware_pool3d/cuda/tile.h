// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward of the average on CUDA devices: what a block takes, fitted to its shared
// memory.
#pragma once

#include <algorithm>

#include "ops/roiaware_pool3d/cuda/kernels.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kTileThreads = 1024;  // and no more voxels
constexpr int kMostPairs = 0xffff;  // places have 16 bits
constexpr int64_t kLeastTile = 32;  // voxels
constexpr int kMostTiles = 4;
constexpr int kSmallBlocks = 4;  // that a processor holds, of those that do not sort
// Shared memory beside the dynamic part, with room to spare.
constexpr size_t kStaticBytes = 1024;

// What the host fits to the shared memory.
struct Tile {
  int voxels;
  int tiles;                // of a block
  int pairs = 0;            // that can be sorted at a time; 0: none
  int least = 0;            // of a tile that are worth it
  bool wide_slots = false;  // rows of indices are whole 16 bytes
};

// Shared memory: 16 bits a point, and of a voxel its shares and the pairs before it while its tile
// is sorted; its count, and its place among those with points, all the time.
inline int64_t TileBytes(const Tile& tile, int64_t points, int64_t row_bytes) {
  int64_t bytes = int64_t{tile.tiles} * tile.voxels * (sizeof(int32_t) + sizeof(uint16_t));
  if (tile.pairs == 0) return bytes;
  bytes += CeilDiv(points, 8) * 16 + tile.voxels * (row_bytes + sizeof(int32_t));
  return bytes + tile.pairs * sizeof(uint16_t);
}

// One block a processor, of the fewest tiles in which five eighths of the slots can be sorted at a
// time. Where there are never more pairs than points, sorting is not worth it: small blocks without.
// row_bytes: of a voxel's shares
inline Tile FitTile(const CudaContext& context, const Problem& p, int64_t points,
                    int64_t row_bytes) {
  const auto shared = static_cast<int64_t>(context.shared_bytes() - kStaticBytes);
  const int64_t share = CeilDiv(p.voxels(), context.sm_count());
  for (int tiles = 1; tiles <= kMostTiles; ++tiles) {
    const int64_t voxels = std::max(CeilDiv(share, tiles), kLeastTile);
    if (voxels > kTileThreads) continue;
    Tile tile = {.voxels = static_cast<int>(voxels), .tiles = tiles, .pairs = 1};
    const int64_t slots = voxels * p.capacity();
    const int64_t pairs =
        std::min<int64_t>((shared - TileBytes(tile, points, row_bytes)) / 2, kMostPairs);
    if (pairs < p.capacity() || pairs < std::min<int64_t>(slots / 8 * 5, kMostPairs)) continue;
    if (std::min(pairs, slots) < points) break;
    tile.pairs = static_cast<int>(pairs);
    tile.least = static_cast<int>(points / 2);
    return tile;
  }
  const int64_t tiles = std::clamp<int64_t>(share / kThreads / kSmallBlocks, 1, kMostTiles);
  return {.voxels = kThreads, .tiles = static_cast<int>(tiles)};
}

// A block's shared memory.
struct TileMemory {
  uint32_t* bins;    // 16 bits a point: its pairs, then where they begin, then where they end
  void* shares;      // [voxels, channels]
  int32_t* starts;   // [voxels]: pairs before
  int32_t* counts;   // [tiles, voxels]
  uint16_t* filled;  // voxels with points, in any order, of the tiles that are not sorted
  uint16_t* order;   // [pairs]: voxels of the tile, by point

  __device__ TileMemory(void* memory, const Tile& tile, uint32_t points, int row_bytes) {
    const bool sorts = tile.pairs > 0;
    bins = static_cast<uint32_t*>(memory);
    char* rows = reinterpret_cast<char*>(bins + (sorts ? (points + 7) / 8 * 4 : 0));
    shares = rows;
    starts = reinterpret_cast<int32_t*>(rows + (sorts ? tile.voxels * row_bytes : 0));
    counts = starts + (sorts ? tile.voxels : 0);
    filled = reinterpret_cast<uint16_t*>(counts + tile.tiles * tile.voxels);
    order = filled + tile.tiles * tile.voxels;
  }
};

}  // namespace
}  // namespace mluop::roiaware_pool3d
