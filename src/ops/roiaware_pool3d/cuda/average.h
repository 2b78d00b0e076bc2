// SPDX-License-Identifier: Apache-2.0
// Backward of AVG pooling on CUDA devices. A block processes one or a few tiles of voxels. In a
// tile with few pairs of voxel and point, the voxel's scaled gradient is added to each point
// directly. In a tile with many, L2 atomics would be the bottleneck (100 G sectors of 32 bytes per
// second on an H200, at any access width). So the block sorts the pairs by point in shared memory,
// sums the scaled gradients of each point, and adds that sum.
#pragma once

#include "ops/roiaware_pool3d/cuda/scatter.h"
#include "ops/roiaware_pool3d/cuda/sort.h"

namespace mluop::roiaware_pool3d {
namespace {

template <typename T, int V, class Sums>
class AverageTile {
 public:
  using ScaledGrad = typename Sums::ScaledGrad;

  __device__ AverageTile(const Gradients<T>& s, const Sums& sums, const Tile& tile, void* memory)
      : s_(s),
        sums_(sums),
        tile_(tile),
        m_(memory, tile, s.points(), s.p.channels * static_cast<int>(sizeof(ScaledGrad))),
        first_(int64_t{blockIdx.x} * tile.tiles * tile.voxels),
        size_(static_cast<int>(min(int64_t{tile.tiles} * tile.voxels, s.p.voxels() - first_))) {}

  __device__ void Run() {
    __shared__ int filled, pairs[kMaxTiles];
    int count[kMaxTiles];
    if (threadIdx.x < kMaxTiles) pairs[threadIdx.x] = 0;
    if (threadIdx.x == 0) filled = 0;
#pragma unroll
    for (int t = 0; t < kMaxTiles; ++t) {
      const int voxel = Voxel(t);
      count[t] = voxel < size_ ? s_.indices[(first_ + voxel) * s_.p.slots] : 0;
    }
    WaitForPredecessor();
    TriggerDependents();
    sums_.Begin();
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kMaxTiles; ++t) {
      count[t] = s_.p.Stored(count[t]);
      int sum = count[t];
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
      if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(pairs + t, sum);
    }
    __syncthreads();
#pragma unroll
    for (int t = 0; t < kMaxTiles; ++t) {
      if (Voxel(t) < size_) m_.counts[Voxel(t)] = count[t];
      if (!ShouldSort(pairs[t])) Append(count[t] > 0, Voxel(t), &filled);
    }
    __syncthreads();
    AddEach(filled);
    for (int t = 0; t < tile_.tiles; ++t) {
      if (ShouldSort(pairs[t])) SortAndAdd(t * tile_.voxels);
    }
  }

 private:
  // This thread's voxel of tile t. Not below size_ if it has none.
  __device__ int Voxel(int t) const {
    const int at = static_cast<int>(threadIdx.x);
    return t < tile_.tiles && at < tile_.voxels ? t * tile_.voxels + at : size_;
  }
  __device__ bool ShouldSort(int pairs) const {
    return tile_.pairs > 0 && pairs >= max(tile_.min_pairs, 1);
  }

  // Appends the voxel to the list of voxels with points. Called with all lanes.
  __device__ void Append(bool has, int voxel, int* filled) {
    const unsigned all = __ballot_sync(0xffffffff, has);
    int place = 0;
    if (threadIdx.x % 32 == 0 && all != 0) place = atomicAdd(filled, __popc(all));
    place = __shfl_sync(0xffffffff, place, 0) + __popc(all & ((1u << threadIdx.x % 32) - 1));
    if (has) m_.filled[place] = static_cast<uint16_t>(voxel);
  }

  __device__ void AddTo(int32_t point, uint32_t channel, const float (&scaled_grad)[V]) {
    const auto row = static_cast<uint32_t>(point);
    if (row < s_.points()) sums_.Add(row * s_.p.channels + channel, scaled_grad);
  }

  // Adds the scaled gradient to the voxel's points from the `first` on.
  __device__ void AddToPoints(int voxel, int first, uint32_t channel,
                              const float (&scaled_grad)[V]) {
    const int32_t* points = s_.indices + (first_ + voxel) * s_.p.slots + 1;
    const int count = m_.counts[voxel];
#pragma unroll 1
    for (int k = first; k < count; k += kPointsInFlight) {
      int32_t point[kPointsInFlight];
#pragma unroll
      for (int i = 0; i < kPointsInFlight; ++i) point[i] = k + i < count ? points[k + i] : -1;
#pragma unroll
      for (int i = 0; i < kPointsInFlight; ++i) {
        if (k + i < count) AddTo(point[i], channel, scaled_grad);
      }
    }
  }

  struct Item {
    int voxel = 0, count = 0;
    uint32_t channel = 0;
    float scaled_grad[V];
    int32_t points[kPointsInFlight];
  };

  __device__ void LoadItem(uint32_t at, uint32_t group, Item* item) {
    item->voxel = m_.filled[at];
    item->count = m_.counts[item->voxel];
    item->channel = group * V;
    Load(s_.grad + (first_ + item->voxel) * s_.p.channels + item->channel, item->scaled_grad);
    const int32_t* points = s_.indices + (first_ + item->voxel) * s_.p.slots + 1;
#pragma unroll
    for (int k = 0; k < kPointsInFlight; ++k) {
      if (k < item->count) item->points[k] = points[k];
    }
  }

  __device__ void AddItem(Item* item) {
    if (item->count == 0) return;
#pragma unroll
    for (int k = 0; k < V; ++k) item->scaled_grad[k] /= static_cast<float>(item->count);
#pragma unroll
    for (int k = 0; k < kPointsInFlight; ++k) {
      if (k < item->count) AddTo(item->points[k], item->channel, item->scaled_grad);
    }
    AddToPoints(item->voxel, kPointsInFlight, item->channel, item->scaled_grad);
  }

  // Processes U items at a time, so that their loads are in flight together; more would spill.
  __device__ void AddEach(int filled) {
    constexpr int U = V == 1 ? 3 : 2;
    const uint32_t groups = s_.groups, items = filled * groups;
    for (uint32_t first = threadIdx.x; first < items; first += U * blockDim.x) {
      Item item[U];
#pragma unroll
      for (int u = 0; u < U; ++u) {
        const uint32_t i = first + u * blockDim.x, at = i / groups;
        if (i < items) LoadItem(at, i - at * groups, item + u);
      }
#pragma unroll
      for (int u = 0; u < U; ++u) AddItem(item + u);
    }
  }

  __device__ void LoadShares(int first, int size) {
    ForEachInRows(size, s_.groups, [&](uint32_t at, uint32_t group) {
      const int voxel = first + static_cast<int>(at);
      const int count = m_.counts[voxel];
      if (count == 0) return;
      float scaled_grad[V];
      Load(s_.grad + (first_ + voxel) * s_.p.channels + group * V, scaled_grad);
#pragma unroll
      for (int k = 0; k < V; ++k) scaled_grad[k] /= static_cast<float>(count);
      ScaledGrad* to = static_cast<ScaledGrad*>(m_.scaled_grads) + at * s_.p.channels + group * V;
      if constexpr (V == 4) {
        *reinterpret_cast<float4*>(to) =
            make_float4(scaled_grad[0], scaled_grad[1], scaled_grad[2], scaled_grad[3]);
      } else {
        to[0] = sums_.ToScaledGrad(scaled_grad[0]);
        if (!Sums::IsRepresentable(scaled_grad[0])) AddToPoints(voxel, 0, group, scaled_grad);
      }
    });
  }

  // Processes the tile whose first voxel is `first`.
  __device__ void SortAndAdd(int first) {
    const int size = min(tile_.voxels, size_ - first);
    LoadShares(first, size);
    PairSort<T> sort(s_, tile_, m_);
    const int32_t* slots = s_.indices + (first_ + first) * s_.p.slots;
    const int all = sort.Begin(m_.counts + first, slots, size);
    for (int begin = 0; begin < all;) {
      begin = sort.Sort(begin, all);
      AddSums();
      __syncthreads();
    }
  }

  __device__ void AddSums() {
    const auto* ends = reinterpret_cast<const uint16_t*>(m_.bins);
    ForEachInRows(s_.points(), s_.groups, [&](uint32_t row, uint32_t group) {
      const int end = ends[row];
      int at = row == 0 ? 0 : ends[row - 1];
      if (at == end) return;
      const ScaledGrad* scaled_grads = static_cast<const ScaledGrad*>(m_.scaled_grads) + group * V;
      ScaledGrad sum[V] = {};
#pragma unroll 2
      for (; at < end; ++at) {
        const ScaledGrad* from = scaled_grads + m_.order[at] * s_.p.channels;
        ScaledGrad scaled_grad[V];
        if constexpr (V == 4) {
          Load(from, scaled_grad);
        } else {
          scaled_grad[0] = from[0];
        }
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += scaled_grad[k];
      }
      sums_.Add(row * s_.p.channels + group * V, sum);
    });
  }

  const Gradients<T>& s_;
  Sums sums_;
  Tile tile_;
  TileMemory m_;
  int64_t first_;
  int size_;
};

template <typename T, int V, class Sums>
__global__ void __launch_bounds__(kTileThreads) AddAverage(Gradients<T> s, Sums sums, Tile tile) {
  extern __shared__ uint4 memory[];
  AverageTile<T, V, Sums>(s, sums, tile, memory).Run();
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
