// SPDX-License-Identifier: Apache-2.0
// Backward of AVG pooling on CUDA devices. AddAverage adds the scaled gradient of each voxel to its
// points. Tiles with many pairs of voxel and point are left to SortTiles. L2 atomics would be the
// bottleneck (100 G sectors of 32 bytes per second on an H200, at any access width). It sorts the
// pairs by point in shared memory, sums the scaled gradients of each point, and adds that sum.
#pragma once

#include "cuda/ptx.h"
#include "ops/roiaware_pool3d/cuda/scatter.h"
#include "ops/roiaware_pool3d/cuda/sort.h"

namespace mluop::roiaware_pool3d {
namespace {

// Loads a voxel's gradient in V channels and divides it by the number of its points.
template <typename T, int V>
__device__ void LoadScaled(const Gradients<T>& s, int64_t voxel, uint32_t channel, int count,
                           float (&scaled)[V]) {
  LoadElements(s.grad + voxel * s.p.channels + channel, scaled);
#pragma unroll
  for (int i = 0; i < V; ++i) scaled[i] /= static_cast<float>(count);
}

// Calls add(element) for the points of a voxel; kPointsInFlight loads are in flight.
template <typename T, class Add>
__device__ void ForEachPoint(const Gradients<T>& s, int64_t voxel, int count, const Add& add) {
  const int32_t* points = s.indices + voxel * s.p.slots + 1;
#pragma unroll 1
  for (int k = 0; k < count; k += kPointsInFlight) {
    uint32_t point[kPointsInFlight];
#pragma unroll
    for (int i = 0; i < kPointsInFlight; ++i) point[i] = k + i < count ? points[k + i] : -1;
#pragma unroll
    for (int i = 0; i < kPointsInFlight; ++i) {
      if (point[i] < s.points()) add(point[i] * s.p.channels);
    }
  }
}

// A block adds the voxels of a tile, one per thread. A tile with at least `dense_pairs` pairs is
// skipped, and dense[tile] is true. dense_pairs = 0: no tile is skipped.
template <typename T, int V, class Sums>
__global__ void __launch_bounds__(kThreads)
    AddAverage(Gradients<T> s, Sums sums, uint32_t dense_pairs, bool* dense) {
  using Scan = cub::BlockScan<uint64_t, kThreads>;
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ int counts[kThreads], voxels[kThreads];  // of the voxels with points
  const int64_t first = int64_t{blockIdx.x} * kThreads, voxel = first + threadIdx.x;
  int count = voxel < s.p.voxels() ? s.indices[voxel * s.p.slots] : 0;
  RepeatedSums<Sums, V, true> repeated(sums);
  WaitForPredecessor();
  TriggerDependents();
  sums.Begin();
  // Scans the numbers of voxels with points, and of pairs, in one word.
  constexpr int kPairBits = 48;
  count = s.p.Stored(count);
  uint64_t before, all;
  Scan(scan_memory).ExclusiveSum((uint64_t{count > 0} << kPairBits) + count, before, all);
  const bool is_dense = dense_pairs > 0 && (all & ((uint64_t{1} << kPairBits) - 1)) >= dense_pairs;
  if (dense_pairs > 0 && threadIdx.x == 0) dense[blockIdx.x] = is_dense;
  if (is_dense) return;
  if (count > 0) {
    const auto place = static_cast<int>(before >> kPairBits);
    counts[place] = count, voxels[place] = static_cast<int>(threadIdx.x);
  }
  __syncthreads();
  const auto filled = static_cast<uint32_t>(all >> kPairBits);
  ForEachInRows(filled, s.groups, [&](uint32_t at, uint32_t group) {
    float scaled[V];
    LoadScaled(s, first + voxels[at], group * V, counts[at], scaled);
    ForEachPoint(s, first + voxels[at], counts[at],
                 [&](uint32_t row) { repeated.Add(row + group * V, scaled); });
  });
  repeated.End();
}

// The tiles of SortTiles are larger; a block processes a few of them.
template <typename T, int V, class Sums>
class SortingBlock {
 public:
  using ScaledGrad = typename Sums::ScaledGrad;

  __device__ SortingBlock(const Gradients<T>& s, const Sums& sums, const Tile& tile, void* memory)
      : s_(s),
        sums_(sums),
        tile_(tile),
        m_(memory, tile, s.points(), s.p.channels * static_cast<int>(sizeof(ScaledGrad))) {}

  // Adds the voxels [first, first + size) of dense tiles of AddAverage.
  __device__ void AddTile(int64_t first, int size, const bool* dense) {
    const int64_t voxel = first + threadIdx.x;
    if (static_cast<int>(threadIdx.x) < size) {
      const int count = dense[voxel / kThreads] ? s_.indices[voxel * s_.p.slots] : 0;
      m_.counts[threadIdx.x] = s_.p.Stored(count);
    }
    __syncthreads();
    ScaleGrads(first, size);
    PairSort<T> sort(s_, tile_, m_);
    const int all = sort.Begin(s_.indices + first * s_.p.slots, size);
    for (int begin = 0; begin < all;) {
      begin = sort.Sort(begin, all);
      AddSums();
      __syncthreads();
    }
  }

 private:
  __device__ void ScaleGrads(int64_t first, int size) {
    ForEachInRows(size, s_.groups, [&](uint32_t at, uint32_t group) {
      const int count = m_.counts[at];
      if (count == 0) return;
      float scaled[V];
      LoadScaled(s_, first + at, group * V, count, scaled);
      Pack<ScaledGrad, V> pack;
#pragma unroll
      for (int i = 0; i < V; ++i) pack.at[i] = sums_.Convert(scaled[i]);
      *reinterpret_cast<Pack<ScaledGrad, V>*>(Row(at) + group * V) = pack;
      if (Sums::IsRepresentable(scaled[0])) return;
      ForEachPoint(s_, first + at, count,
                   [&](uint32_t row) { sums_.Mark(row + group * V, scaled[0]); });
    });
  }

  __device__ void AddSums() {
    const auto* ends = reinterpret_cast<const uint16_t*>(m_.bins);
    ForEachInRows(s_.points(), s_.groups, [&](uint32_t row, uint32_t group) {
      const int end = ends[row];
      int at = row == 0 ? 0 : ends[row - 1];
      if (at == end) return;
      ScaledGrad sum[V] = {};
#pragma unroll 2
      for (; at < end; ++at) {
        const ScaledGrad* from = Row(m_.order[at]) + group * V;
        const auto scaled = *reinterpret_cast<const Pack<ScaledGrad, V>*>(from);
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += scaled.at[k];
      }
      sums_.Add(row * s_.p.channels + group * V, sum);
    });
  }

  __device__ ScaledGrad* Row(uint32_t voxel) {
    return static_cast<ScaledGrad*>(m_.scaled_grads) + voxel * s_.p.channels;
  }

  const Gradients<T>& s_;
  const Sums& sums_;
  const Tile& tile_;
  TileMemory m_;
};

template <typename T, int V, class Sums>
__global__ void __launch_bounds__(kTileThreads)
    SortTiles(Gradients<T> s, Sums sums, Tile tile, const bool* dense) {
  auto* const memory = DynamicShared<uint4>();
  const int64_t step = int64_t{tile.tiles} * tile.voxels, begin = blockIdx.x * step;
  const int64_t end = min(begin + step, s.p.voxels());
  const int64_t own = begin / kThreads + threadIdx.x;  // at most kTileThreads tiles of AddAverage
  WaitForPredecessor();
  TriggerDependents();
  if (!__syncthreads_or(own * kThreads < end && dense[own])) return;
  sums.Begin();
  SortingBlock<T, V, Sums> block(s, sums, tile, memory);
  for (int64_t first = begin; first < end; first += tile.voxels) {
    block.AddTile(first, static_cast<int>(min(int64_t{tile.voxels}, end - first)), dense);
    __syncthreads();
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
