// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: the edges of a border sorted by the line they lie on. A stable
// counting sort in one launch, several blocks per border of an image.
#include <algorithm>

#include "ops/border_align/cuda/heavy_lines.h"

namespace mluop::border_align {
namespace {

constexpr int kWarps = 32;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kCounters = kBuckets + 1;  // the last one: edges outside
// Maximum blocks per list. Every block counts all boxes, which is cheaper than inter-block
// synchronisation, and places its own slice of them.
constexpr int kMaxSlices = 32;
constexpr int kUnroll = 8;  // loads of a thread in flight

struct Counters {
  int32_t next[kWarps][kCounters];  // in a round: a warp's edges, then the position of its first
  int32_t total[kCounters];         // of the list
  int32_t first[kCounters + 1];     // the place of a bucket's first edge
  int32_t cursor[kCounters];        // next free position of the bucket
};

template <typename T>
struct SortCall {
  Problem p;
  const T* boxes;    // [N, K, 4]
  int32_t* offsets;  // [N, 4, kBuckets + 2]
  int32_t* order;    // [N, 4, K]
  int parts;         // blocks of a list
  HeavyLines heavy;  // without lists: no line is divided
};

// The boxes of one border of an image.
template <typename T>
struct List {
  const T* fixed;  // of box 0; boxes lie 4 elements apart
  int lines, k;

  __device__ List(const SortCall<T>& call, int list) : k(call.p.k) {
    const int border = list % kBorders;
    lines = MakeAxes(call.p, border).fixed_size;
    // The fixed coordinate of top, left, bottom, right is y1, x1, y2, x2.
    fixed = call.boxes + int64_t{list / kBorders} * k * 4 + (border ^ 1);
  }

  __device__ float Fixed(int box) const { return AsReal(__ldg(fixed + int64_t{box} * 4)); }
  __device__ int Bucket(float position) const {
    const Neighbours at = FindNeighbours(position, lines);
    return at.inside ? BucketOf(at.low, lines) : kBuckets;
  }
};

// Counts all edges, and the edges before box `begin`.
template <typename T>
__device__ void CountEdges(const List<T>& list, int begin, Counters& counters) {
#pragma unroll kUnroll
  for (int k = threadIdx.x; k < list.k; k += kThreads) {
    const int bucket = list.Bucket(list.Fixed(k));
    atomicAdd(&counters.total[bucket], 1);
    if (k < begin) atomicAdd(&counters.cursor[bucket], 1);
  }
}

// Exclusive prefix sum of the totals. Called by one warp.
__device__ void SumTotals(Counters& counters) {
  constexpr int kEach = (kCounters + kWarpLanes - 1) / kWarpLanes;
  const int lane = threadIdx.x;
  const int begin = lane * kEach, end = min(begin + kEach, kCounters);
  int own = 0;
  for (int i = begin; i < end; ++i) own += counters.total[i];
  int sum = WarpPrefixSum(own);
  if (lane == kWarpLanes - 1) counters.first[kCounters] = sum;
  sum -= own;
  for (int i = begin; i < end; ++i) {
    counters.first[i] = sum;
    counters.cursor[i] += sum;
    sum += counters.total[i];
  }
}

// Assigns places to the edges of a round, a box per thread. bucket < 0: this thread has no box.
// Must be called by all threads of the block.
__device__ void PlaceRound(int k, int bucket, Counters& counters, int32_t* order) {
  const int thread = threadIdx.x, lane = thread % kWarpLanes;
  int32_t* next = counters.next[thread / kWarpLanes];
  for (int i = lane; i < kCounters; i += kWarpLanes) next[i] = 0;
  __syncwarp();
  const unsigned same_bucket = __match_any_sync(kWholeWarp, bucket);
  const int rank = __popc(same_bucket & ((1u << lane) - 1));
  if (bucket >= 0 && rank == 0) next[bucket] = __popc(same_bucket);
  __syncthreads();
  if (thread < kCounters) {
    int sum = counters.cursor[thread];
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const int count = counters.next[warp][thread];
      counters.next[warp][thread] = sum;
      sum += count;
    }
    counters.cursor[thread] = sum;
  }
  __syncthreads();
  if (bucket >= 0) order[next[bucket] + rank] = k;
  __syncwarp();
}

// Lists the extra chunks of a list and resets its counters. Called by all threads of a block.
template <typename T>
__device__ void PrepareHeavyLines(const SortCall<T>& call, int index, int lines,
                                  const Counters& counters) {
  const HeavyLines& heavy = call.heavy;
  if (threadIdx.x < kWarpLanes) {
    ListExtraChunks(heavy, index, lines, call.p.k, counters.first);
  }
  int32_t* arrivals = heavy.arrivals + heavy.Counter(index, 0, 0);
  for (int i = threadIdx.x; i < heavy.extras * heavy.owners; i += kThreads) arrivals[i] = 0;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SortLists(SortCall<T> call) {
  __shared__ Counters counters;
  const int thread = threadIdx.x, parts = call.parts;
  const int rounds = (call.p.k + parts * kThreads - 1) / (parts * kThreads);
  for (int i = blockIdx.x; i < call.p.n * kBorders * parts; i += gridDim.x) {
    const int index = i / parts, part = i % parts;
    const List<T> list(call, index);
    const int64_t begin = int64_t{part} * rounds * kThreads;
    if (thread < kCounters) counters.total[thread] = counters.cursor[thread] = 0;
    __syncthreads();
    CountEdges(list, static_cast<int>(min(begin, int64_t{list.k})), counters);
    __syncthreads();
    if (thread < kWarpLanes) SumTotals(counters);
    __syncthreads();
    int32_t* order = call.order + int64_t{index} * list.k;
    for (int round = 0; round < rounds; ++round) {
      const int64_t k = begin + round * kThreads + thread;
      const int bucket = k < list.k ? list.Bucket(list.Fixed(static_cast<int>(k))) : -1;
      PlaceRound(static_cast<int>(k), bucket, counters, order);
    }
    int32_t* offsets = call.offsets + int64_t{index} * (kCounters + 1);
    if (part == 0 && thread <= kCounters) offsets[thread] = counters.first[thread];
    if (part == 0 && call.heavy.lists > 0) PrepareHeavyLines(call, index, list.lines, counters);
    __syncthreads();
  }
}

int64_t OffsetsCount(const Problem& p) { return int64_t{p.n} * kBorders * (kCounters + 1); }

}  // namespace

size_t ListsBytes(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  return static_cast<size_t>(OffsetsCount(p) + int64_t{p.n} * kBorders * p.k) * sizeof(int32_t);
}

Lists SortEdges(const CudaCall<Problem>& call, void* scratch, const HeavyLines* heavy) {
  const Problem& p = call.p;
  auto* offsets = static_cast<int32_t*>(scratch);
  int32_t* order = offsets + OffsetsCount(p);
  const int parts = static_cast<int>(std::min<int64_t>(kMaxSlices, CeilDiv(p.k, kThreads)));
  WithType(call, [&](auto element) {
    using T = decltype(element);
    call.context.Launch(SortLists<T>, {int64_t{p.n} * kBorders * parts, kThreads},
                        SortCall<T>{p, call.arguments.In<T>("boxes"), offsets, order, parts,
                                    heavy == nullptr ? HeavyLines{} : *heavy});
  });
  return {offsets, order};
}

}  // namespace mluop::border_align
