// SPDX-License-Identifier: Apache-2.0
// First kernel of masked_sums.h on CUDA devices: writes the masks of the RoIs (roi_masks.h), the
// columns of all bins, and the scaled gradients as [roi][bin][channel]. It also finds out whether
// the mapping of a call is forward's.
#pragma once

#include <algorithm>

#include "cuda/context.h"
#include "cuda/pdl.h"
#include "ops/roi/cuda/layout.h"
#include "ops/roi/cuda/roi_masks.h"

namespace mluop::roi {

// Output of the first kernel. A chunk is some channels of some bins of one RoI.
template <typename T>
struct Prepared {
  static constexpr int kThreads = 512;
  static constexpr int kChunk = 4096;      // elements, in shared memory
  static constexpr int kTableBlocks = 32;  // write masks and columns
  static constexpr int kMaxChunkBlocks = 1024;

  RoiMasks masks;
  Span* columns;    // [R, bins_w]
  T* scaled_grads;  // [R, bins, output_dim]
  int* flags;       // [blocks], not 0 where a block has seen a custom mapping
  int blocks;
  int chunk_bins, chunk_channels;

  template <class Problem>
  Prepared(const Problem& p, char* scratch)
      : masks(p.rois, int64_t{p.n} * p.h, p.w, p.bins_h(), p.bins_w()),
        chunk_bins(static_cast<int>(std::min<int64_t>(p.bins(), kChunk))),
        chunk_channels(static_cast<int>(std::min<int64_t>(kChunk / chunk_bins, p.output_dim))) {
    blocks =
        static_cast<int>(kTableBlocks + std::min<int64_t>(p.rois * Chunks(p), kMaxChunkBlocks));
    masks.data = reinterpret_cast<uint32_t*>(scratch);
    flags = reinterpret_cast<int*>(scratch + masks.Bytes());
    columns = reinterpret_cast<Span*>(scratch + masks.Bytes() + FlagBytes());
    scaled_grads = reinterpret_cast<T*>(scratch + masks.Bytes() + FlagBytes() + ColumnBytes(p));
  }
  static size_t FlagBytes() { return AlignedBytes(sizeof(int) * (kTableBlocks + kMaxChunkBlocks)); }
  template <class Problem>
  static size_t ColumnBytes(const Problem& p) {
    return AlignedBytes(sizeof(Span) * static_cast<size_t>(p.rois * p.bins_w()));
  }
  template <class Problem>
  size_t Bytes(const Problem& p) const {
    return masks.Bytes() + FlagBytes() + ColumnBytes(p) +
           sizeof(T) * static_cast<size_t>(p.rois * p.channels());
  }
  // Chunks of a RoI.
  template <class Problem>
  MLUOP_HOST_DEVICE int64_t Chunks(const Problem& p) const {
    return (p.output_dim + chunk_channels - 1) / chunk_channels *
           ((p.bins() + chunk_bins - 1) / chunk_bins);
  }
};

#if defined(__CUDACC__)

// Writes the masks and the columns.
template <class Problem, typename T>
__device__ void WriteTables(const Problem& p, const T* rois, const Prepared<T>& prepared) {
  constexpr int64_t kThreads = Prepared<T>::kThreads * Prepared<T>::kTableBlocks;
  const int64_t first = int64_t{blockIdx.x} * Prepared<T>::kThreads + threadIdx.x;
  for (int64_t i = first / 32; i < prepared.masks.Items(); i += kThreads / 32) {
    prepared.masks.Write(p, i, [&](int64_t r) { return PlaceRoi(p, rois + r * 5); });
  }
  const auto across = static_cast<unsigned>(p.bins_w());
  for (int64_t i = first; i < p.rois * across; i += kThreads) {
    const auto item = static_cast<unsigned>(i);  // fewer than 2^31
    const auto place = PlaceRoi(p, rois + int64_t{item / across} * 5);
    prepared.columns[i] = place.Columns(p, static_cast<int>(item % across));
  }
}

// Scales a chunk, and transposes it if pooled values are in NCHW. The scaled gradient of an empty
// bin is never read. Returns whether the thread has read a channel that is not forward's.
template <class Family, bool kNchw, class Problem, typename T>
__device__ bool ScaleChunk(const Problem& p, const PooledGradients<T>& t,
                           const Prepared<T>& prepared, int64_t chunk) {
  constexpr int kThreads = Prepared<T>::kThreads;
  __shared__ T grads[Prepared<T>::kChunk];
  __shared__ int areas[Prepared<T>::kChunk];
  const int64_t chunks = prepared.Chunks(p), r = chunk / chunks, all_bins = p.bins();
  const int64_t slices = (p.output_dim + prepared.chunk_channels - 1) / prepared.chunk_channels;
  const int64_t b0 = chunk % chunks / slices * prepared.chunk_bins;
  const int64_t c0 = chunk % chunks % slices * prepared.chunk_channels;
  const auto bins = static_cast<int>(min(int64_t{prepared.chunk_bins}, all_bins - b0));
  const auto channels = static_cast<int>(min(int64_t{prepared.chunk_channels}, p.output_dim - c0));
  bool custom = false;
#pragma unroll 4  // loads in flight
  for (int i = threadIdx.x; i < channels * bins; i += kThreads) {
    const int c = kNchw ? i / bins : i % channels, b = kNchw ? i % bins : i / channels;
    const int64_t from = ElementLayout<kNchw>::Pooled(p, r, b0 + b, c0 + c);
    grads[c * bins + b] = t.pooled[from];
    if (Family::kHasMapping) custom |= t.mapping[from] != (c0 + c) * all_bins + b0 + b;
  }
  const auto place = PlaceRoi(p, t.rois + r * 5);
  for (int b = threadIdx.x; b < bins; b += kThreads) {
    const int bin = static_cast<int>(b0) + b;
    const Span rows = place.Rows(p, bin / p.bins_w()), columns = place.Columns(p, bin % p.bins_w());
    areas[b] = rows.size() * columns.size();
  }
  __syncthreads();
  T* to = prepared.scaled_grads + (r * all_bins + b0) * p.output_dim + c0;
  for (int i = threadIdx.x; i < channels * bins; i += kThreads) {
    const int b = i / channels, c = i % channels;
    to[b * p.output_dim + c] = Family::Scale(grads[c * bins + b], static_cast<T>(areas[b]));
  }
  __syncthreads();
  return custom;
}

template <class Family, bool kNchw, class Problem, typename T>
__global__ void __launch_bounds__(Prepared<T>::kThreads)
    Prepare(Problem p, PooledGradients<T> t, Prepared<T> prepared) {
  constexpr int kTables = Prepared<T>::kTableBlocks;
  TriggerDependents();
  bool custom = false;
  if (blockIdx.x < kTables) {
    WriteTables(p, t.rois, prepared);
  } else {
    for (int64_t i = blockIdx.x - kTables; i < p.rois * prepared.Chunks(p);
         i += gridDim.x - kTables) {
      custom |= ScaleChunk<Family, kNchw>(p, t, prepared, i);
    }
  }
  const int any = __syncthreads_or(custom);
  if (threadIdx.x == 0) prepared.flags[blockIdx.x] = any;
}

#endif  // __CUDACC__

}  // namespace mluop::roi
