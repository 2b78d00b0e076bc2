// SPDX-License-Identifier: Apache-2.0
// The first and the last launch of masked_conv2d: layouts. Limited by memory bandwidth.
#include <cub/block/block_scan.cuh>

#include "cuda/pdl.h"
#include "cuda/words.h"
#include "ops/masked_conv2d/cuda/kernels.h"

namespace mluop::masked_conv2d {
namespace {

constexpr int kWarps = kThreads / 32;
// Positions that a block lists: kRuns for each of its threads.
constexpr int kRuns = 16, kListStep = kThreads * kRuns;

template <typename T>
__device__ bool IsMasked(const Sizes& sizes, const T* mask, int position) {
  const float value = position < sizes.positions ? static_cast<float>(mask[position]) : 0.0f;
  return value > 0;
}

// Lists the masked positions from `begin` on, kListStep of them, in ascending order. Counts the ones
// before them again, so that blocks do not wait for each other.
template <typename T>
__device__ void ListMasked(const Sizes& sizes, const T* mask, int begin, const Arranged<T>& to) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ int starts[kRuns * kWarps];  // the first rank of a warp's run
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int before = 0;
#pragma unroll 16
  for (int i = thread; i < begin; i += kThreads) before += IsMasked(sizes, mask, i) ? 1 : 0;
  uint32_t runs[kRuns];
#pragma unroll
  for (int k = 0; k < kRuns; ++k) {
    runs[k] = __ballot_sync(~0u, IsMasked(sizes, mask, begin + k * kThreads + thread));
    if (lane == 0) starts[k * kWarps + warp] = __popc(runs[k]);
  }
  int unused, all_before;
  Scan(storage).ExclusiveSum(before, unused, all_before);
  __syncthreads();
  int start, total;
  Scan(storage).ExclusiveSum(thread < kRuns * kWarps ? starts[thread] : 0, start, total);
  if (thread < kRuns * kWarps) starts[thread] = all_before + start;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRuns; ++k) {
    const int position = begin + k * kThreads + thread;
    const bool is_masked = (runs[k] >> lane & 1) != 0;
    const int rank = starts[k * kWarps + warp] + __popc(runs[k] & ((1u << lane) - 1));
    if (position < sizes.positions) to.rank[position] = is_masked ? rank : -1;
    if (is_masked) to.masked[rank] = position;
  }
  if (thread == 0 && begin + kListStep >= sizes.positions) *to.count = all_before + total;
}

// Arranges the weights of one output.
template <typename T>
__device__ void ArrangeWeights(const Sizes& sizes, const T* weight, int output, T* to) {
  const int terms = sizes.taps * sizes.padded_channels;
  const T* const from = weight + int64_t{output} * sizes.channels * sizes.taps;
#pragma unroll 8
  for (int i = threadIdx.x; i < terms; i += kThreads) {
    const int channel = i % sizes.padded_channels, tap = i / sizes.padded_channels;
    const bool exists = channel < sizes.channels && output < sizes.outputs;
    to[output * sizes.terms() + i] = exists ? from[channel * sizes.taps + tap] : T{0};
  }
}

// The channels of a pixel that a word holds.
template <typename T>
inline constexpr int kGroup = 4 / sizeof(T);

// Transposes a square of channels and pixels: loads V pixels at a time, stores words of channels.
template <typename T, int V>
__device__ void ArrangeFeatures(const Sizes& sizes, const T* features, int square, T* to) {
  constexpr int kWords = kSquare / kGroup<T>;     // of a pixel
  __shared__ uint32_t tile[kSquare][kWords + 1];  // [pixel][word]
  const int across = (sizes.plane + kSquare - 1) / kSquare;
  const int down = (sizes.padded_channels + kSquare - 1) / kSquare;
  const int pixel = square % across * kSquare, channel = square / across % down * kSquare;
  const int64_t image = square / across / down;
  const T* const from = features + image * sizes.channels * sizes.plane;
#pragma unroll
  for (int i = threadIdx.x; i < kSquare / V * kWords; i += kThreads) {
    const int at = i % (kSquare / V) * V, word = i / (kSquare / V);
    Pack<T, kGroup<T>> groups[V] = {};
#pragma unroll
    for (int g = 0; g < kGroup<T>; ++g) {
      const int c = channel + word * kGroup<T> + g;
      T pixels[V] = {};
      if (c < sizes.channels && pixel + at < sizes.plane)
        LoadElements(from + int64_t{c} * sizes.plane + pixel + at, pixels);
#pragma unroll
      for (int v = 0; v < V; ++v) groups[v].at[g] = pixels[v];
    }
#pragma unroll
    for (int v = 0; v < V; ++v) tile[at + v][word] = std::bit_cast<uint32_t>(groups[v]);
  }
  __syncthreads();
  auto* const rows = reinterpret_cast<uint32_t*>(
      to + (image * sizes.plane + pixel) * sizes.padded_channels + channel);
  const int row_words = sizes.padded_channels / kGroup<T>;
#pragma unroll
  for (int i = threadIdx.x; i < kSquare * kWords; i += kThreads) {
    const int word = i % kWords, at = i / kWords;
    if (channel / kGroup<T> + word < row_words && pixel + at < sizes.plane)
      rows[int64_t{at} * row_words + word] = tile[at][word];
  }
}

// The number of blocks for each part of the work.
struct Parts {
  int list, weights;  // the others arrange features
};

// The bound on registers lets 8 blocks share an SM where it holds 2048 threads: 0.81x the time for
// half (100x152x256, H200).
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
constexpr int kArrangeBlocks = 8;
#else
constexpr int kArrangeBlocks = 4;
#endif
template <typename T, int V>
__global__ void __launch_bounds__(kThreads, kArrangeBlocks)
    ArrangeKernel(Sizes sizes, Tensors<T> tensors, Arranged<T> to, Parts parts) {
  TriggerDependents();
  const int block = static_cast<int>(blockIdx.x), after_list = block - parts.list;
  if (after_list < 0) {
    ListMasked(sizes, tensors.mask, block * kListStep, to);
  } else if (after_list < parts.weights) {
    ArrangeWeights(sizes, tensors.weight, after_list, to.weight);
  } else {
    ArrangeFeatures<T, V>(sizes, tensors.features, after_list - parts.weights, to.features);
  }
}

// Writes a square of outputs and positions of one image, V positions at a time.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    FinishKernel(Sizes sizes, Tensors<T> tensors, Arranged<T> from) {
  __shared__ float tile[kSquare][kSquare + 1];  // [position][output]
  const int thread = static_cast<int>(threadIdx.x), positions = sizes.image_positions();
  const int across = (positions + kSquare - 1) / kSquare;
  const int down = (sizes.outputs + kSquare - 1) / kSquare;
  const int square = static_cast<int>(blockIdx.x);
  const int position = square % across * kSquare, output = square / across % down * kSquare;
  const int64_t image = square / across / down, pitch = sizes.padded_outputs;
  // A thread adds the splits of four outputs, in order, for kRows positions.
  constexpr int kAcross = kSquare / 4, kStep = kThreads / kAcross, kRows = kSquare / kStep;
  const int o = thread % kAcross * 4, first = thread / kAcross;
  float bias[4] = {};
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    if (output + o + v < sizes.outputs) bias[v] = static_cast<float>(tensors.bias[output + o + v]);
  }
  WaitForPredecessor();
  int ranks[kRows];
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    const int at = position + first + k * kStep;
    ranks[k] = at < positions ? from.rank[image * positions + at] : -1;
  }
  float4 sums[kRows] = {};
  const float* split = from.sums + output + o;
  for (int s = 0; s < sizes.splits; ++s, split += RoundUp(sizes.positions, kTile) * pitch) {
    float4 parts[kRows] = {};
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      if (ranks[k] >= 0) parts[k] = *reinterpret_cast<const float4*>(split + ranks[k] * pitch);
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      sums[k] = {sums[k].x + parts[k].x, sums[k].y + parts[k].y, sums[k].z + parts[k].z,
                 sums[k].w + parts[k].w};
  }
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    const float sum[] = {sums[k].x, sums[k].y, sums[k].z, sums[k].w};
#pragma unroll
    for (int v = 0; v < 4; ++v)
      tile[first + k * kStep][o + v] = ranks[k] < 0 ? 0.0f : sum[v] + bias[v];
  }
  __syncthreads();
  T* const to = tensors.output + (image * sizes.outputs + output) * positions + position;
#pragma unroll
  for (int i = thread; i < kSquare * kSquare / V; i += kThreads) {
    const int o = i / (kSquare / V), at = i % (kSquare / V) * V;
    if (output + o >= sizes.outputs || position + at >= positions) continue;
    Pack<T, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) pack.at[v] = static_cast<T>(tile[at + v][o]);
    StorePack(pack, to + int64_t{o} * positions + at);
  }
}

}  // namespace

template <typename T>
void Arrange(CudaContext& context, const Sizes& sizes, const Tensors<T>& tensors,
             const Arranged<T>& to, bool with_weight) {
  const Parts parts = {static_cast<int>(CeilDiv(sizes.positions, kListStep)),
                       with_weight ? sizes.padded_outputs : 0};
  const int64_t squares =
      CeilDiv(sizes.plane, kSquare) * CeilDiv(sizes.padded_channels, kSquare) * sizes.images;
  const bool by_pairs = sizes.plane % 2 == 0 && IsAligned(tensors.features, 2 * sizeof(T));
  context.Launch(by_pairs ? ArrangeKernel<T, 2> : ArrangeKernel<T, 1>,
                 {parts.list + parts.weights + squares, kThreads}, sizes, tensors, to, parts);
}

template <typename T>
void Finish(CudaContext& context, const Sizes& sizes, const Tensors<T>& tensors,
            const Arranged<T>& from) {
  const int positions = sizes.image_positions();
  const int64_t squares =
      CeilDiv(positions, kSquare) * CeilDiv(sizes.outputs, kSquare) * sizes.images;
  const bool by_pairs = positions % 2 == 0 && IsAligned(tensors.output, 2 * sizeof(T));
  context.Launch(by_pairs ? FinishKernel<T, 2> : FinishKernel<T, 1>,
                 {squares, kThreads, 0, /*pdl=*/true}, sizes, tensors, from);
}

template void Arrange(CudaContext&, const Sizes&, const Tensors<half>&, const Arranged<half>&,
                      bool);
template void Arrange(CudaContext&, const Sizes&, const Tensors<float>&, const Arranged<float>&,
                      bool);
template void Finish(CudaContext&, const Sizes&, const Tensors<half>&, const Arranged<half>&);
template void Finish(CudaContext&, const Sizes&, const Tensors<float>&, const Arranged<float>&);

}  // namespace mluop::masked_conv2d
