// SPDX-License-Identifier: Apache-2.0
// masked_col2im forward on CUDA devices: bound by the bytes of im, every element of which is written
// once. A table says which mask won each pixel. Where there are few masks, a block makes the table of
// its pixels in shared memory, which is cheaper than two launches more, while the elements of two
// channels come to shared memory as well: then it has all it needs, and writes.
#include <cuda_pipeline.h>

#include <algorithm>

#include "cuda/pdl.h"
#include "ops/masked_im2col/cuda/winners.h"

namespace mluop::masked_im2col {
namespace {

constexpr int kThreads = 1024;
// Masks that a thread reads before it waits for any of them.
constexpr int kBatch = 4;
// More masks, or pixels, than these are better put into a table once for all blocks. A channel's
// elements take about half of kMostShared at most.
constexpr int kMostOwnMasks = 8192;
constexpr int64_t kMostOwnPixels = 1 << 20;
// Channels that a block writes at a time, where their elements fit.
constexpr int kPlanes = 2;
// Without a table of their own, elements that a thread reads before it stores any of them.
constexpr int kElements = 16;

template <typename T>
using Call = Col2imCudaCall<T>;

bool HasOwnTables(const Problem& p) {
  return p.plane() <= kMostOwnPixels && p.masks <= kMostOwnMasks;
}

__global__ void __launch_bounds__(kThreads)
    FindWinners(Problem p, Masks masks, int32_t* __restrict__ winners) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t m = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; m < p.masks; m += step) {
    const uint32_t pixel = PixelOf(p, __ldg(masks.h + m), __ldg(masks.w + m));
    if (pixel != kOutside) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
  }
}

// The pixels of a block.
struct Range {
  int first, size;

  template <typename T>
  __device__ explicit Range(const Call<T>& call)
      : first(static_cast<int>(blockIdx.x % call.parts) * call.range),
        size(min(call.range, static_cast<int>(call.p.plane()) - first)) {}
};

// The first masks come while the table is zeroed.
__device__ void MakeTable(const Problem& p, const Masks& masks, const Range& range,
                          int32_t* table) {
  const int step = blockDim.x, at = threadIdx.x;
  for (int first = 0; first < p.masks; first += kBatch * step) {
    int32_t h[kBatch], w[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int m = first + k * step + at;
      h[k] = m < p.masks ? __ldg(masks.h + m) : -1;
      w[k] = m < p.masks ? __ldg(masks.w + m) : -1;
    }
    if (first == 0) {
      for (int k = at * 4; k < range.size; k += step * 4)  // there is room for whole vectors
        *reinterpret_cast<int4*>(table + k) = int4{0, 0, 0, 0};
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const uint32_t pixel = PixelOf(p, h[k], w[k]), place = pixel - range.first;
      if (pixel != kOutside && place < static_cast<uint32_t>(range.size))
        atomicMax(table + place, first + k * step + at + 1);
    }
  }
}

// A channel's elements in shared memory, behind a zero for pixels that no mask won: winner w has
// element kLead - 1 + w.
template <typename T>
constexpr int kLead = 16 / sizeof(T);
template <typename T>
MLUOP_HOST_DEVICE int RowPitch(int masks) {
  return (masks + 2 * kLead<T> - 1) / kLead<T> * kLead<T>;
}

template <typename T>
__device__ void StartRow(const Call<T>& call, int64_t channel, T* row) {
  const int masks = call.p.masks;
  const T* const from = call.from + channel * masks;
  if (threadIdx.x == 0) row[kLead<T> - 1] = T{0};
  if (call.whole_chunks) {
    for (int k = threadIdx.x * kLead<T>; k < masks; k += blockDim.x * kLead<T>)
      __pipeline_memcpy_async(row + kLead<T> + k, from + k, 16);
  } else {
    for (int k = threadIdx.x; k < masks; k += blockDim.x) row[kLead<T> + k] = __ldg(from + k);
  }
}

// V pixels at a time. V divides H*W, unless it is one.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) FillStaged(Call<T> call) {
  const Problem& p = call.p;
  const Range range(call);
  const int pitch = RowPitch<T>(p.masks);
  T* const rows = SharedMemory<T>();
  int32_t* const table = reinterpret_cast<int32_t*>(rows + call.planes * pitch);
  const int64_t step = int64_t{call.slices} * call.planes;
  for (int64_t channel = blockIdx.x / call.parts * call.planes; channel < p.channels;
       channel += step) {
    const int planes = static_cast<int>(min(int64_t{call.planes}, p.channels - channel));
    for (int k = 0; k < planes; ++k) StartRow(call, channel + k, rows + k * pitch);
    if (channel < step) MakeTable(p, call.masks, range, table);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    T* const to = call.to + channel * p.plane() + range.first;
#pragma unroll 2
    for (int pixel = threadIdx.x * V; pixel < range.size; pixel += blockDim.x * V) {
      int32_t winner[V];
      LoadIntegers<V>(table + pixel, winner);
#pragma unroll
      for (int k = 0; k < kPlanes; ++k) {
        if (k >= planes) break;
        Pack<T, V> pack;
#pragma unroll
        for (int v = 0; v < V; ++v) pack.at[v] = rows[k * pitch + kLead<T> - 1 + winner[v]];
        StorePack(pack, to + k * p.plane() + pixel);
      }
    }
    __syncthreads();
  }
}

// A thread keeps the winners of its V pixels for all channels of the block.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) FillPlanes(Call<T> call) {
  constexpr int kAtOnce = V == 1 ? 8 : kElements / V;  // channels
  const Problem& p = call.p;
  const Range range(call);
  const int pixel = static_cast<int>(threadIdx.x) * V;
  WaitForPredecessor();
  if (pixel >= range.size) return;
  int32_t winner[V];
  LoadIntegers<V>(call.winners + range.first + pixel, winner);
  const int64_t slice = blockIdx.x / call.parts, channels = p.channels;
  const int64_t begin = channels * slice / call.slices;
  const int64_t end = channels * (slice + 1) / call.slices;
  const T* row = call.from + begin * p.masks - 1;
  T* to = call.to + begin * p.plane() + range.first + pixel;
#pragma unroll 1
  for (auto left = static_cast<int>(end - begin); left > 0; left -= kAtOnce) {
    Pack<T, V> packs[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const bool live = winner[v] != 0 && u < left;
        packs[u].at[v] = live ? __ldg(row + int64_t{u} * p.masks + winner[v]) : T{0};
      }
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (u < left) StorePack(packs[u], to + u * p.plane());
    }
    row += int64_t{kAtOnce} * p.masks;
    to += kAtOnce * p.plane();
  }
}

// Parts of at most `most` pixels, more of them where there are fewer `groups` of channels than
// processors, and slices of these groups.
template <typename T, int V>
int64_t Cut(int64_t most, int64_t groups, int processors, Call<T>* call) {
  constexpr int64_t kLeast = 32;  // packs of a part
  const int64_t packs = call->p.plane() / V, least = CeilDiv(packs, most / V);
  const int64_t useful = std::max(least, CeilDiv(packs, kLeast));
  const int64_t parts = std::clamp<int64_t>(processors / groups, least, useful);
  call->range = static_cast<int>(CeilDiv(packs, parts)) * V;
  call->parts = static_cast<int>(CeilDiv(packs * V, call->range));
  call->slices = static_cast<int>(std::clamp<int64_t>(processors / call->parts, 1, groups));
  return int64_t{call->parts} * call->slices;
}

template <typename T, int V>
void LaunchStaged(Call<T> call, CudaContext& context) {
  const Problem& p = call.p;
  const size_t shared = context.shared_bytes() - kReserved;
  const size_t row = static_cast<size_t>(RowPitch<T>(p.masks)) * sizeof(T);
  call.planes = kPlanes * row + WinnersBytes(p) <= shared ? kPlanes : 1;
  call.whole_chunks = IsAligned(call.from) && p.masks % kLead<T> == 0;
  const size_t rows = static_cast<size_t>(call.planes) * row;
  const auto most = static_cast<int64_t>((shared - rows) / sizeof(int32_t)) / 8 * 8;
  const int64_t groups = CeilDiv(p.channels, call.planes);
  const int64_t blocks = Cut<T, V>(most, groups, context.sm_count(), &call);
  const int64_t work = std::max<int64_t>(call.range / V, CeilDiv(p.masks, kBatch));
  const auto table = static_cast<size_t>(CeilDiv(call.range, 4)) * sizeof(int4);
  context.Launch(FillStaged<T, V>, {blocks, ThreadsFor(work, kThreads), rows + table}, call);
}

template <typename T, int V>
void Fill(Call<T> call, CudaContext& context) {
  if (HasOwnTables(call.p)) return LaunchStaged<T, V>(call, context);
  call.winners = MakeWinners(call.p, call.masks, context);
  const int64_t blocks = Cut<T, V>(kThreads * V, call.p.channels, context.sm_count(), &call);
  const int threads = ThreadsFor(call.range / V, kThreads);
  context.Launch(FillPlanes<T, V>, {blocks, threads, 0, true}, call);
}

template <typename T>
mluOpStatus_t Run(const Arguments& a, CudaContext& context) {
  const Call<T> call = {
      .p = MakeProblem(a), .masks = MasksOf(a), .from = a.In<T>("col"), .to = a.Out<T>("im")};
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
