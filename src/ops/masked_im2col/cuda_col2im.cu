// SPDX-License-Identifier: Apache-2.0
// masked_col2im forward on CUDA devices: every element of im is written once, from the table of
// winners. Small tables are made by every block for itself in shared memory: cheaper than two
// launches more.
#include <algorithm>

#include "ops/masked_im2col/cuda_winners.h"

namespace mluop::masked_im2col {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksOfProcessor = 2;  // with tables of kMostShared bytes, of kThreads
// Masks that a thread reads before it waits for any of them.
constexpr int kBatch = 8;
// More masks than these two batches a thread are better put into a table once for all blocks.
constexpr int kMostOwnMasks = 2 * kBatch * kThreads;
// A block's own table costs about as much as writing a fraction of a plane: so many blocks may share
// a channel.
constexpr int kBlocksOfChannel = 4;

bool HasOwnTables(const Problem& p) {
  return WinnersBytes(p) <= kMostShared && p.masks <= kMostOwnMasks;
}

__global__ void __launch_bounds__(kThreads)
    FindWinners(Problem p, Masks masks, int32_t* __restrict__ winners) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t m = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; m < p.masks; m += step) {
    const uint32_t pixel = PixelOf(p, __ldg(masks.h + m), __ldg(masks.w + m));
    if (pixel != kOutside) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
  }
}

// Zeroes the table, and has the first masks come meanwhile.
__device__ void MakeTable(const Problem& p, const Masks& masks, int32_t* table) {
  const auto step = static_cast<int>(blockDim.x);
  for (int first = threadIdx.x; first - static_cast<int>(threadIdx.x) < p.masks;
       first += kBatch * step) {
    int32_t h[kBatch], w[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int m = first + k * step;
      h[k] = m < p.masks ? __ldg(masks.h + m) : -1;
      w[k] = m < p.masks ? __ldg(masks.w + m) : -1;
    }
    if (first == static_cast<int>(threadIdx.x)) {
      for (int k = threadIdx.x; k < p.plane(); k += step) table[k] = 0;
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const uint32_t pixel = PixelOf(p, h[k], w[k]);
      if (pixel != kOutside) atomicMax(table + pixel, first + k * step + 1);
    }
  }
  __syncthreads();
}

// Where a thread is in im, V elements at a time.
struct Position {
  int64_t channel;
  int pixel;

  __device__ Position(const Problem& p, int64_t element)
      : channel(element / p.plane()), pixel(static_cast<int>(element % p.plane())) {}
  __device__ void Advance(const Position& step, int plane) {
    channel += step.channel;
    pixel += step.pixel - plane;  // below zero: still in this plane
    if (pixel < 0) {
      pixel += plane;
    } else {
      ++channel;
    }
  }
};

// Every block has an equal share of im, whatever the number of channels. V divides H*W, unless it
// is one.
template <typename T, int V, bool kOwnTable>
__global__ void __launch_bounds__(kThreads, kBlocksOfProcessor) FillPlanes(Col2imCudaCall<T> call) {
  const Problem& p = call.p;
  const int64_t packs = p.channels * p.plane() / V;
  const int64_t begin = packs * blockIdx.x / gridDim.x;
  const int64_t end = packs * (blockIdx.x + int64_t{1}) / gridDim.x;
  const int32_t* winners = call.winners;
  if constexpr (kOwnTable) {
    const T* const first = call.from + begin * V / p.plane() * p.masks;
    PrefetchLines(first, first + p.masks);
    int32_t* const table = SharedMemory<int32_t>();
    MakeTable(p, call.masks, table);
    winners = table;
  }
  Position at(p, (begin + threadIdx.x) * V);
  const Position step(p, int64_t{blockDim.x} * V);
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const T* const row = call.from + at.channel * p.masks;
    int32_t winner[V];
    LoadIntegers<V>(winners + at.pixel, winner);
    Pack<T, V> pack;
#pragma unroll
    for (int v = 0; v < V; ++v) pack.at[v] = winner[v] == 0 ? T{0} : __ldg(row + winner[v] - 1);
    StorePack(pack, call.to + i * V);
    at.Advance(step, static_cast<int>(p.plane()));
  }
}

template <typename T, int V>
void Fill(Col2imCudaCall<T> call, CudaContext& context) {
  const Problem& p = call.p;
  const int64_t packs = p.channels * p.plane() / V;
  if (HasOwnTables(p)) {
    const int64_t blocks = std::min<int64_t>(int64_t{p.channels} * kBlocksOfChannel,
                                             int64_t{context.processors()} * kBlocksOfProcessor);
    const int threads = ThreadsFor(std::max<int64_t>(CeilDiv(packs, blocks), p.masks), kThreads);
    context.Launch(FillPlanes<T, V, true>, {blocks, threads, WinnersBytes(p)}, call);
    return;
  }
  call.winners = MakeWinners(p, call.masks, context);
  // Four blocks of kThreads fill a processor.
  const int64_t blocks =
      std::min<int64_t>(CeilDiv(packs, kThreads), int64_t{context.processors()} * 4);
  context.Launch(FillPlanes<T, V, false>, {blocks, kThreads}, call);
}

template <typename T>
mluOpStatus_t Run(const Arguments& a, CudaContext& context) {
  const Col2imCudaCall<T> call = {
      MakeProblem(a), MasksOf(a), a.In<T>("col"), a.Out<T>("im"), nullptr, 1, 1};
  if (call.p.masks == 0) {
    context.Zero(call.to, a.Tensor("im").ByteCount());
    return context.status();
  }
  constexpr int kChunk = 16 / sizeof(T);
  IsAligned(call.to, 16) && call.p.plane() % kChunk == 0 ? Fill<T, kChunk>(call, context)
                                                         : Fill<T, 1>(call, context);
  return context.status();
}

}  // namespace

int32_t* MakeWinners(const Problem& p, const Masks& masks, CudaContext& context) {
  auto* const winners = static_cast<int32_t*>(context.Scratch(WinnersBytes(p)));
  context.Zero(winners, WinnersBytes(p));
  context.Launch(FindWinners, {CeilDiv(p.masks, kThreads), kThreads}, p, masks, winners);
  return winners;
}

mluOpStatus_t Col2imCuda(const Arguments& arguments, CudaContext& context) {
  return arguments.Type() == MLUOP_DTYPE_HALF ? Run<uint16_t>(arguments, context)
                                              : Run<uint32_t>(arguments, context);
}

size_t Col2imCudaBytes(const Arguments& arguments) {
  const Problem p = MakeProblem(arguments);
  return HasOwnTables(p) ? 0 : WinnersBytes(p);
}

}  // namespace mluop::masked_im2col
