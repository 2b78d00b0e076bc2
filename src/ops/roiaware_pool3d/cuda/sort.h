// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward of the average on CUDA devices: a block sorts the pairs of voxel and point
// of a tile by point, by counting. The order within a point is any.
#pragma once

#include <cub/block/block_scan.cuh>

#include "ops/roiaware_pool3d/cuda/scatter.h"
#include "ops/roiaware_pool3d/cuda/tile.h"

namespace mluop::roiaware_pool3d {
namespace {

// Loaded twice: to be kept by the caches.
template <int W>
__device__ void LoadKept(const int32_t* from, int32_t (&to)[W]) {
  if constexpr (W == 1) {
    to[0] = *from;
  } else {
    const int4 v = *reinterpret_cast<const int4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  }
}

// All members are called by all of kTileThreads threads.
template <typename T>
class PairSort {
 public:
  __device__ PairSort(const Scatter<T>& s, const Tile& tile, const TileMemory& m)
      : s_(s), m_(m), most_(tile.pairs), wide_(tile.wide_slots) {}

  // A tile: counts and slots of its voxels. Returns its pairs.
  __device__ int Begin(const int32_t* counts, const int32_t* slots, int size) {
    counts_ = counts, slots_ = slots, size_ = size;
    const bool own = static_cast<int>(threadIdx.x) < size;
    count_ = own ? counts[threadIdx.x] : 0;
    int all;
    Scan(Temporary()).ExclusiveSum(count_, start_, all);
    if (own) m_.starts[threadIdx.x] = start_;
    return all;
  }

  // Sorts as many pairs from `begin` on as there is room for, and whole voxels only. Returns where
  // the rest begins, or `all`. Point i has the pairs [i == 0 ? 0 : end of i-1, end of i).
  __device__ int Sort(int begin, int all) {
    __shared__ int next;
    begin_ = begin, end_ = begin + most_;
    if (threadIdx.x == 0) next = all;
    const uint32_t words = (s_.points + 1) / 2;
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
  // Loads under way at the same time, as many as there are registers for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  static constexpr int kAhead = 2;
#else
  static constexpr int kAhead = 4;
#endif

  static __device__ typename Scan::TempStorage& Temporary() {
    __shared__ typename Scan::TempStorage memory;
    return memory;
  }

  __device__ void TurnCountsIntoStarts(uint32_t words) {
    // An odd number of words each: threads next to each other use different banks.
    const uint32_t share = ((words + kTileThreads - 1) / kTileThreads) | 1;
    const uint32_t low = min(threadIdx.x * share, words), high = min(low + share, words);
    int own = 0, before;
    for (uint32_t i = low; i < high; ++i) own += (m_.bins[i] & 0xffff) + (m_.bins[i] >> 16);
    Scan(Temporary()).ExclusiveSum(own, before);
    for (uint32_t i = low; i < high; ++i) {
      const uint32_t pair = m_.bins[i], middle = before + (pair & 0xffff);
      m_.bins[i] = before | middle << 16;
      before = middle + (pair >> 16);
    }
  }

  // Calls visit(voxel, row) for the pairs of this time, in any order.
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
      int32_t point[kAhead][W];
      int where[kAhead];
      uint32_t used = 0;  // a bit a slot
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        where[a] = voxel;
        const uint32_t own = Used<W>(voxel, at * W);
        if (own != 0) LoadKept(slots_ + int64_t{voxel} * s_.p.slots + at * W, point[a]);
        used |= own << a * W;
        voxel += rows, at += rest;
        if (at >= length) at -= length, ++voxel;
      }
#pragma unroll
      for (int i = 0; i < kAhead * W; ++i) {
        if ((used >> i & 1) == 0) continue;
        const uint32_t row = s_.Row(point[i / W][i % W]);
        if (row < s_.points) visit(where[i / W], row);
      }
    }
  }

  // Which of the slots [first, first + W) of a voxel hold points of this time: a bit each.
  template <int W>
  __device__ uint32_t Used(int voxel, int first) const {
    if (voxel >= size_) return 0;
    const int start = m_.starts[voxel], count = counts_[voxel];
    if (start < begin_ || start + count > end_) return 0;
    uint32_t used = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      if (first + i > 0 && first + i <= count) used |= 1u << i;
    }
    return used;
  }

  const Scatter<T>& s_;
  const TileMemory& m_;
  int most_;
  bool wide_;
  const int32_t* counts_ = nullptr;
  const int32_t* slots_ = nullptr;
  int size_ = 0;
  int count_ = 0, start_ = 0;  // of this thread's voxel
  int begin_ = 0, end_ = 0;
};

}  // namespace
}  // namespace mluop::roiaware_pool3d
