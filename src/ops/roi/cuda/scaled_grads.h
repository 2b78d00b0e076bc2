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

// Output of the first kernel, in scratch. A chunk is some channels of some bins of one RoI,
// contiguous in the pooled values.
template <typename T>
struct Prepared {
  static constexpr int kThreads = 256;     // 43.3 us for a call; 512 threads: 44.8 us (H200)
  static constexpr int kChunk = 2048;      // elements
  static constexpr int kTableBlocks = 32;  // write masks and columns
  static constexpr int kMaxChunkBlocks = 1024;

  RoiMasks masks;
  Span* columns;    // [R, bins_w]
  T* scaled_grads;  // [R, bins, output_dim]
  int* flags;       // [blocks], not 0 where a block has seen a custom mapping
  int blocks;
  int chunk_bins, chunk_channels;
  unsigned slices, chunks;  // of a RoI: slices of its channels, and chunks

  template <class Problem>
  Prepared(const Problem& p, bool is_nchw, void* scratch) : masks(RoiMasks::Of(p, scratch)) {
    const int64_t bins = p.bins(), channels = p.output_dim, most = kChunk;
    chunk_bins = static_cast<int>(is_nchw ? std::min(bins, most)
                                          : std::clamp<int64_t>(most / channels, 1, bins));
    chunk_channels = static_cast<int>(std::min(most / chunk_bins, channels));
    slices = static_cast<unsigned>(CeilDiv(channels, chunk_channels));
    chunks = slices * static_cast<unsigned>(CeilDiv(bins, chunk_bins));
    blocks = static_cast<int>(kTableBlocks + std::min<int64_t>(p.rois * chunks, kMaxChunkBlocks));
    char* const tables = static_cast<char*>(scratch) + masks.Bytes();
    columns = reinterpret_cast<Span*>(tables);
    scaled_grads = reinterpret_cast<T*>(tables + ColumnBytes(p));
    flags = reinterpret_cast<int*>(scaled_grads + p.rois * p.channels());
  }
  template <class Problem>
  static size_t ColumnBytes(const Problem& p) {
    return AlignedBytes(sizeof(Span) * static_cast<size_t>(p.rois * p.bins_w()));
  }
  // Scratch of a call.
  template <class Problem>
  static size_t Bytes(const Problem& p) {
    return RoiMasks::Of(p, nullptr).Bytes() + ColumnBytes(p) +
           sizeof(T) * static_cast<size_t>(p.rois * p.channels()) +
           sizeof(int) * (kTableBlocks + kMaxChunkBlocks);
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
  const auto all_bins = static_cast<int>(p.bins()), output_dim = static_cast<int>(p.output_dim);
  const int64_t r = chunk / prepared.chunks;
  const auto index = static_cast<unsigned>(chunk % prepared.chunks);
  const int b0 = static_cast<int>(index / prepared.slices) * prepared.chunk_bins;
  const int c0 = static_cast<int>(index % prepared.slices) * prepared.chunk_channels;
  const int bins = min(prepared.chunk_bins, all_bins - b0);
  const int channels = min(prepared.chunk_channels, output_dim - c0);
  // A chunk is contiguous in the pooled values.
  const int64_t first = ElementLayout<kNchw>::Pooled(p, r, b0, c0);
  const T* from = t.pooled + first;
  const int32_t* mapping = t.mapping + first;
  T* to = prepared.scaled_grads + (r * all_bins + b0) * output_dim + c0;
  // A warp owns a row at a time: no divisions.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rows = kNchw ? channels : bins, width = kNchw ? bins : channels;
  bool custom = false;
  for (int row = warp; row < rows; row += kThreads / 32) {
#pragma unroll 4  // loads in flight
    for (int i = lane; i < width; i += 32) {
      grads[row * width + i] = __ldg(from + row * width + i);
      if (!Family::kHasMapping) continue;
      const int c = c0 + (kNchw ? row : i), b = b0 + (kNchw ? i : row);
      custom |= __ldg(mapping + row * width + i) != c * all_bins + b;
    }
  }
  for (int b = threadIdx.x; b < bins; b += kThreads) {
    const auto place = PlaceRoi(p, t.rois + r * 5);
    const int ph = (b0 + b) / p.bins_w(), pw = (b0 + b) % p.bins_w();
    areas[b] = place.Rows(p, ph).size() * place.Columns(p, pw).size();
  }
  __syncthreads();
  for (int b = warp; b < bins; b += kThreads / 32) {
    const auto area = static_cast<T>(areas[b]);
#pragma unroll 4
    for (int c = lane; c < channels; c += 32) {
      const T gradient = grads[kNchw ? c * bins + b : b * channels + c];
      to[b * output_dim + c] = Family::Scale(gradient, area);
    }
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
    for (int64_t i = blockIdx.x - kTables; i < p.rois * prepared.chunks; i += gridDim.x - kTables) {
      custom |= ScaleChunk<Family, kNchw>(p, t, prepared, i);
    }
  }
  const int any = __syncthreads_or(custom);
  if (threadIdx.x == 0) prepared.flags[blockIdx.x] = any;
}

#endif  // __CUDACC__

}  // namespace mluop::roi
