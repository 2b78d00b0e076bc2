// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward of the average on CUDA devices. A block sorts the (voxel, point) pairs
// of a tile of voxels by point: a counting sort in shared memory. The order within a point is
// arbitrary.
#pragma once

#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "ops/roiaware_pool3d/cuda/scatter.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kMaxPairs = 0xffff;  // places have 16 bits
// Shared memory outside the dynamic part, an upper bound.
constexpr size_t kStaticBytes = 1024;

struct Tile {
  int voxels;
  int tiles;                // per block
  int pairs = 0;            // that can be sorted at a time
  bool wide_slots = false;  // rows of indices are multiples of 16 bytes
};

// Bytes of shared memory: 16 bits per point and pair; per voxel the scaled gradients, the number of
// pairs and the number of pairs before it.
inline int64_t TileBytes(const Tile& tile, int64_t points, int64_t row_bytes) {
  return CeilDiv(points, 8) * 16 + tile.voxels * (row_bytes + 2 * sizeof(int32_t)) +
         tile.pairs * sizeof(uint16_t);
}

// One block per SM, with the fewest tiles such that five eighths of the slots of a tile can be
// sorted at a time. Has 0 pairs if no tile fits. Also has 0 pairs if a tile never has more pairs
// than points: sorting would not be faster. row_bytes: of a voxel's scaled gradients
inline Tile SortingTile(const CudaContext& context, const Problem& p, int64_t row_bytes) {
  const auto shared = static_cast<int64_t>(context.shared_bytes() - kStaticBytes);
  const int64_t per_sm = CeilDiv(p.voxels(), context.sm_count());
  for (int tiles = 1; tiles <= kMaxTiles; ++tiles) {
    const int64_t voxels = std::max(CeilDiv(per_sm, tiles), kMinTileVoxels);
    if (voxels > kTileThreads) continue;
    Tile tile = {.voxels = static_cast<int>(voxels), .tiles = tiles};
    const int64_t slots = voxels * p.capacity();
    const int64_t pairs =
        std::min<int64_t>((shared - TileBytes(tile, p.points, row_bytes)) / 2, kMaxPairs);
    if (pairs < p.capacity() || pairs < std::min<int64_t>(slots / 8 * 5, kMaxPairs)) continue;
    if (std::min(pairs, slots) < p.points) break;
    tile.pairs = static_cast<int>(pairs);
    return tile;
  }
  return {};
}

// A block's shared memory.
struct TileMemory {
  uint32_t* bins;  // 16 bits per point: the number of its pairs, then their start, then their end
  void* scaled_grads;  // [voxels, channels]
  int32_t* starts;     // [voxels]: the number of pairs of earlier voxels
  int32_t* counts;     // [voxels]
  uint16_t* order;     // [pairs]: voxels of the tile, sorted by point

  __device__ TileMemory(void* memory, const Tile& tile, uint32_t points, int row_bytes) {
    bins = static_cast<uint32_t*>(memory);
    char* rows = reinterpret_cast<char*>(bins + (points + 7) / 8 * 4);
    scaled_grads = rows;
    starts = reinterpret_cast<int32_t*>(rows + tile.voxels * row_bytes);
    counts = starts + tile.voxels;
    order = reinterpret_cast<uint16_t*>(counts + tile.voxels);
  }
};

// All kTileThreads threads call every member.
template <typename T>
class PairSort {
 public:
  __device__ PairSort(const Gradients<T>& s, const Tile& tile, const TileMemory& m)
      : s_(s), m_(m), max_pairs_(tile.pairs), wide_(tile.wide_slots) {}

  // Takes the slots of a tile's voxels. Returns the number of its pairs.
  __device__ int Begin(const int32_t* slots, int size) {
    slots_ = slots, size_ = size;
    const bool own = static_cast<int>(threadIdx.x) < size;
    count_ = own ? m_.counts[threadIdx.x] : 0;
    int all;
    Scan(Temporary()).ExclusiveSum(count_, start_, all);
    if (own) m_.starts[threadIdx.x] = start_;
    return all;
  }

  // Sorts the pairs from `begin` on, whole voxels only, as many as fit. Returns the first pair that
  // does not fit, or `all`. Point i has the pairs [i == 0 ? 0 : end of i-1, end of i).
  __device__ int Sort(int begin, int all) {
    __shared__ int next;
    begin_ = begin, end_ = begin + max_pairs_;
    if (threadIdx.x == 0) next = all;
    const uint32_t words = (s_.points() + 1) / 2;
    for (uint32_t i = threadIdx.x; i < words; i += kTileThreads) m_.bins[i] = 0;
    __syncthreads();
    if (start_ >= begin && start_ + count_ > end_) atomicMin(&next, start_);
    ForEachPair([&](int, uint32_t row) { atomicAdd(m_.bins + row / 2, 1u << row % 2 * 16); });
    __syncthreads();
    TurnCountsIntoStarts(words);
    __syncthreads();
    ForEachPair([&](int voxel, uint32_t row) {
      const uint32_t old = atomicAdd(m_.bins + row / 2, 1u << row % 2 * 16);
      m_.order[old >> row % 2 * 16 & 0xffff] = static_cast<uint16_t>(voxel);
    });
    __syncthreads();
    return next;
  }

 private:
  using Scan = cub::BlockScan<int, kTileThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  // Loads in flight at the same time, as many as the registers allow.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  static constexpr int kLoads = 2;
#else
  static constexpr int kLoads = 4;
#endif

  static __device__ typename Scan::TempStorage& Temporary() {
    __shared__ typename Scan::TempStorage memory;
    return memory;
  }

  __device__ void TurnCountsIntoStarts(uint32_t words) {
    // An odd number of words per thread: neighbouring threads use different banks.
    const uint32_t length = ((words + kTileThreads - 1) / kTileThreads) | 1;
    const uint32_t low = min(threadIdx.x * length, words), high = min(low + length, words);
    int own = 0, before;
    for (uint32_t i = low; i < high; ++i) own += (m_.bins[i] & 0xffff) + (m_.bins[i] >> 16);
    Scan(Temporary()).ExclusiveSum(own, before);
    for (uint32_t i = low; i < high; ++i) {
      const uint32_t pair = m_.bins[i], middle = before + (pair & 0xffff);
      m_.bins[i] = before | middle << 16;
      before = middle + (pair >> 16);
    }
  }

  // Calls visit(voxel, row) for the pairs of this pass, in arbitrary order.
  template <class Visit>
  __device__ void ForEachPair(Visit visit) {
    if (wide_) {
      ForEachPairOf<4>(visit);
    } else {
      ForEachPairOf<1>(visit);
    }
  }

  template <int W, class Visit>
  __device__ void ForEachPairOf(Visit visit) {
    const int length = s_.p.slots / W, rows = kTileThreads / length, rest = kTileThreads % length;
    int voxel = threadIdx.x / length, at = threadIdx.x % length;
    while (voxel < size_) {
      int32_t point[kLoads][W];
      int where[kLoads];
      uint32_t used = 0;  // one bit per slot
#pragma unroll
      for (int a = 0; a < kLoads; ++a) {
        where[a] = voxel;
        const uint32_t own = Used<W>(voxel, at * W);
        if (own != 0) LoadElements(slots_ + int64_t{voxel} * s_.p.slots + at * W, point[a]);
        used |= own << a * W;
        voxel += rows, at += rest;
        if (at >= length) at -= length, ++voxel;
      }
#pragma unroll
      for (int i = 0; i < kLoads * W; ++i) {
        if ((used >> i & 1) == 0) continue;
        const auto row = static_cast<uint32_t>(point[i / W][i % W]);
        if (row < s_.points()) visit(where[i / W], row);
      }
    }
  }

  // One bit for each of the slots [first, first + W) of a voxel that holds a point of this pass.
  template <int W>
  __device__ uint32_t Used(int voxel, int first) const {
    if (voxel >= size_) return 0;
    const int start = m_.starts[voxel], count = m_.counts[voxel];
    if (start < begin_ || start + count > end_) return 0;
    uint32_t used = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      if (first + i > 0 && first + i <= count) used |= 1u << i;
    }
    return used;
  }

  const Gradients<T>& s_;
  const TileMemory& m_;
  int max_pairs_;
  bool wide_;
  const int32_t* slots_ = nullptr;
  int size_ = 0;
  int count_ = 0, start_ = 0;  // of this thread's voxel
  int begin_ = 0, end_ = 0;
};

}  // namespace
}  // namespace mluop::roiaware_pool3d
