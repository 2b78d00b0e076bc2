// SPDX-License-Identifier: Apache-2.0
// masked_col2im on CUDA devices, both directions. A table of the plane's pixels tells which mask
// won each: m+1 of the last one there, 0 without any, so that the maximum decides and the order does
// not. Forward then writes every element of im once, backward every element of grad_col. Small
// tables are made by every block for itself in shared memory: cheaper than two launches more.
#include <algorithm>

#include "ops/masked_im2col/cuda.h"

namespace mluop::masked_im2col {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksOfProcessor = 2;  // with tables of kMostShared bytes, of kThreads
// What a thread reads before it waits for any of it.
constexpr int kBatch = 8;
// More masks than these two batches a thread are better put into a table once for all blocks.
constexpr int kMostOwnMasks = 2 * kBatch * kThreads;
// A block's own table costs about as much as writing a fraction of a plane: so many blocks may share
// a channel.
constexpr int kBlocksOfChannel = 4;
// Groups of masks that a thread of backward has in flight.
constexpr int kGroups = 4;

// col: [C, M], im: [C, H*W]; the one is read and the other written.
template <typename T>
struct Call {
  Problem p;
  Masks masks;
  const T* from;
  T* to;
  int32_t* winners;  // [H*W], of global memory; NULL: every block makes its own
  int parts;         // backward: of the masks, for different blocks
  int slices;        // backward: of the channels, likewise
};

bool HasOwnTables(const Problem& p) {
  return p.plane() * static_cast<int64_t>(sizeof(int32_t)) <= static_cast<int64_t>(kMostShared) &&
         p.masks <= kMostOwnMasks;
}

size_t TableBytes(const Problem& p) { return static_cast<size_t>(p.plane()) * sizeof(int32_t); }

__global__ void __launch_bounds__(kThreads)
    FindWinners(Problem p, Masks masks, int32_t* __restrict__ winners) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t m = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; m < p.masks; m += step) {
    const int64_t pixel = p.Offset(__ldg(masks.h + m), __ldg(masks.w + m));
    if (pixel >= 0) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
  }
}

// Zeroes the table, and has the first masks come meanwhile.
__device__ void MakeTable(const Problem& p, const Masks& masks, int32_t* table) {
  const auto plane = static_cast<int>(p.plane());
  for (int first = 0; first < p.masks; first += kBatch * static_cast<int>(blockDim.x)) {
    int32_t h[kBatch], w[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int m = first + k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
      h[k] = m < p.masks ? __ldg(masks.h + m) : -1;
      w[k] = m < p.masks ? __ldg(masks.w + m) : -1;
    }
    if (first == 0) {
      for (int k = threadIdx.x; k < plane; k += blockDim.x) table[k] = 0;
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int m = first + k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
      const auto pixel = static_cast<int32_t>(p.Offset(h[k], w[k]));
      if (pixel >= 0) atomicMax(table + pixel, m + 1);
    }
  }
  __syncthreads();
}

// Where a block is in im, V elements at a time.
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
__global__ void __launch_bounds__(kThreads, kBlocksOfProcessor) FillPlanes(Call<T> call) {
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

// The pixels of kGroups groups of V masks, `step` groups apart; -1 where there is no gradient.
template <int V>
struct Pixels {
  int32_t at[kGroups][V];
};

template <int V>
__device__ Pixels<V> FindPixels(const Problem& p, const Masks& masks, const int32_t* winners,
                                int64_t group, int64_t step) {
  Pixels<V> pixels;
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const int64_t first = (group + k * step) * V;
    int32_t w[V] = {};
    for (int32_t& pixel : pixels.at[k]) pixel = -1;
    if (first < p.masks) {
      LoadIntegers<V>(masks.h + first, pixels.at[k]);
      LoadIntegers<V>(masks.w + first, w);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const auto pixel = static_cast<int32_t>(p.Offset(pixels.at[k][v], w[v]));
      const bool won = pixel >= 0 && winners[pixel] == first + v + 1;
      pixels.at[k][v] = won ? pixel : -1;
    }
  }
  return pixels;
}

// Lanes have neighbouring masks, whose pixels lie in few sectors where masks are sorted.
template <typename T, int V, bool kOwnTable>
__global__ void __launch_bounds__(kThreads, kBlocksOfProcessor) GatherWinners(Call<T> call) {
  const Problem& p = call.p;
  const int32_t* winners = call.winners;
  if constexpr (kOwnTable) {
    int32_t* const table = SharedMemory<int32_t>();
    MakeTable(p, call.masks, table);
    winners = table;
  }
  const int64_t groups = p.masks / V, step = int64_t{call.parts} * blockDim.x;
  const int64_t part = blockIdx.x % call.parts, slice = blockIdx.x / call.parts;
  for (int64_t g = part * blockDim.x + threadIdx.x; g < groups; g += kGroups * step) {
    const Pixels<V> pixels = FindPixels<V>(p, call.masks, winners, g, step);
    for (int64_t channel = slice; channel < p.channels; channel += call.slices) {
      const T* const plane = call.from + channel * p.plane();
      T* const row = call.to + channel * p.masks;
      Pack<T, V> packs[kGroups];
#pragma unroll
      for (int k = 0; k < kGroups; ++k) {
#pragma unroll
        for (int v = 0; v < V; ++v)
          packs[k].at[v] = pixels.at[k][v] < 0 ? T{0} : __ldg(plane + pixels.at[k][v]);
      }
#pragma unroll
      for (int k = 0; k < kGroups; ++k) {
        if (g + k * step < groups) StorePack(packs[k], row + (g + k * step) * V);
      }
    }
  }
}

// The table in global memory.
template <typename T>
void MakeWinners(Call<T>* call, CudaContext& context) {
  call->winners = static_cast<int32_t*>(context.Scratch(TableBytes(call->p)));
  context.Zero(call->winners, TableBytes(call->p));
  context.Launch(FindWinners, {CeilDiv(call->p.masks, kThreads), kThreads}, call->p, call->masks,
                 call->winners);
}

template <typename T, int V>
void Fill(Call<T> call, CudaContext& context) {
  const int64_t packs = call.p.channels * call.p.plane() / V;
  if (HasOwnTables(call.p)) {
    const int64_t blocks = std::min<int64_t>(int64_t{call.p.channels} * kBlocksOfChannel,
                                             int64_t{context.processors()} * kBlocksOfProcessor);
    const int threads =
        ThreadsFor(std::max<int64_t>(CeilDiv(packs, blocks), call.p.masks), kThreads);
    context.Launch(FillPlanes<T, V, true>, {blocks, threads, TableBytes(call.p)}, call);
    return;
  }
  MakeWinners(&call, context);
  // Four blocks of kThreads fill a processor.
  const int64_t blocks =
      std::min<int64_t>(CeilDiv(packs, kThreads), int64_t{context.processors()} * 4);
  context.Launch(FillPlanes<T, V, false>, {blocks, kThreads}, call);
}

template <typename T, int V>
void Gather(Call<T> call, CudaContext& context) {
  const int64_t groups = call.p.masks / V, whole = CeilDiv(groups, kThreads * kGroups);
  if (HasOwnTables(call.p)) {
    const int64_t wanted = int64_t{context.processors()} * kBlocksOfProcessor;
    call.parts = static_cast<int>(std::clamp<int64_t>(wanted / call.p.channels, 1, whole));
    // From many channels on a block takes several, for one table.
    call.slices = static_cast<int>(std::min<int64_t>(call.p.channels, 2 * wanted));
    const int threads = ThreadsFor(CeilDiv(groups, call.parts), kThreads);
    const Grid grid = {int64_t{call.parts} * call.slices, threads, TableBytes(call.p)};
    context.Launch(GatherWinners<T, V, true>, grid, call);
    return;
  }
  MakeWinners(&call, context);
  call.parts = static_cast<int>(whole);
  call.slices = static_cast<int>(
      std::min<int64_t>(call.p.channels, CeilDiv(int64_t{context.processors()} * 4, call.parts)));
  context.Launch(GatherWinners<T, V, false>, {int64_t{call.parts} * call.slices, kThreads}, call);
}

template <typename T>
mluOpStatus_t RunForward(const Arguments& a, CudaContext& context) {
  const Call<T> call = {MakeProblem(a), MasksOf(a), a.In<T>("col"), a.Out<T>("im"), nullptr, 1, 1};
  if (call.p.masks == 0) {
    context.Zero(call.to, a.Tensor("im").ByteCount());
    return context.status();
  }
  constexpr int kChunk = 16 / sizeof(T);
  IsAligned(call.to, 16) && call.p.plane() % kChunk == 0 ? Fill<T, kChunk>(call, context)
                                                         : Fill<T, 1>(call, context);
  return context.status();
}

template <typename T>
mluOpStatus_t RunBackward(const Arguments& a, CudaContext& context) {
  const Call<T> call = {
      MakeProblem(a), MasksOf(a), a.In<T>("grad_im"), a.Out<T>("grad_col"), nullptr, 1, 1};
  constexpr int kPair = 4 / sizeof(T);
  call.masks.HaveGroups(call.p.masks, kPair) && IsAligned(call.to, 4)
      ? Gather<T, kPair>(call, context)
      : Gather<T, 1>(call, context);
  return context.status();
}

}  // namespace

mluOpStatus_t Col2imCuda(const Arguments& arguments, CudaContext& context) {
  return arguments.Type() == MLUOP_DTYPE_HALF ? RunForward<uint16_t>(arguments, context)
                                              : RunForward<uint32_t>(arguments, context);
}

mluOpStatus_t Col2imBackwardCuda(const Arguments& arguments, CudaContext& context) {
  return arguments.Type() == MLUOP_DTYPE_HALF ? RunBackward<uint16_t>(arguments, context)
                                              : RunBackward<uint32_t>(arguments, context);
}

size_t Col2imCudaBytes(const Arguments& arguments) {
  const Problem p = MakeProblem(arguments);
  return HasOwnTables(p) ? 0 : TableBytes(p);
}

}  // namespace mluop::masked_im2col
