// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: the edges of a border sorted by the line they lie on. A stable
// counting sort, a block per border of an image.
#include "ops/border_align/cuda.h"

namespace mluop::border_align {
namespace {

constexpr int kWarps = 32;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kCounters = kBuckets + 1;  // the last one: edges outside
// Boxes whose buckets a thread keeps between counting and placing: up to 16384 boxes are read once.
constexpr int kRounds = 16;

struct Counters {
  int32_t next[kWarps][kCounters];  // of a warp: edges counted, then places given away
  int32_t first[kCounters + 1];     // the place of a bucket's first edge
};

template <typename T>
struct SortCall {
  Problem p;
  const T* boxes;    // [N, K, 4]
  int32_t* offsets;  // [N, 4, kBuckets + 2]
  int32_t* order;    // [N, 4, K]

  // Each warp takes a run of boxes, 32 a round.
  __device__ int rounds() const { return (p.k + kThreads - 1) / kThreads; }
  __device__ int FirstBox(int round) const {
    const int warp = threadIdx.x / kWarpLanes;
    return (warp * rounds() + round) * kWarpLanes;
  }
};

// The buckets of this lane's boxes of kRounds rounds; -1: there is no box.
template <typename T>
__device__ void FindBuckets(const SortCall<T>& call, int list, int round, int (&bucket)[kRounds]) {
  const int lane = threadIdx.x % kWarpLanes, border = list % kBorders;
  const int lines = MakeAxes(call.p, border).fixed_size;
  // y1, x1, y2, x2: where top, left, bottom and right stay.
  const T* fixed = call.boxes + int64_t{list / kBorders} * call.p.k * 4 + (border ^ 1);
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int k = call.FirstBox(round + r) + lane;
    bucket[r] = -1;
    if (round + r >= call.rounds() || k >= call.p.k) continue;
    const Neighbours at = FindNeighbours(AsFloat(fixed[int64_t{k} * 4]), lines);
    bucket[r] = at.inside ? BucketOf(at.low, lines) : kBuckets;
  }
}

// From counts to places: before a warp's edges of a bucket come those of earlier warps, and all
// earlier buckets.
__device__ void SumCounters(Counters& counters) {
  const int thread = threadIdx.x;
  if (thread < kCounters) {
    int sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const int count = counters.next[warp][thread];
      counters.next[warp][thread] = sum;
      sum += count;
    }
    counters.first[thread] = sum;
  }
  __syncthreads();
  if (thread < kWarpLanes) {
    constexpr int kEach = (kCounters + kWarpLanes - 1) / kWarpLanes;
    const int begin = thread * kEach, end = min(begin + kEach, kCounters);
    int own = 0;
    for (int i = begin; i < end; ++i) own += counters.first[i];
    int sum = own;
    for (int distance = 1; distance < kWarpLanes; distance *= 2) {
      const int before = __shfl_up_sync(kWholeWarp, sum, distance);
      if (thread >= distance) sum += before;
    }
    if (thread == kWarpLanes - 1) counters.first[kCounters] = sum;
    sum -= own;
    for (int i = begin; i < end; ++i) {
      const int count = counters.first[i];
      counters.first[i] = sum;
      sum += count;
    }
  }
  __syncthreads();
}

// Gives the boxes of kRounds rounds their places.
template <typename T>
__device__ void PlaceBoxes(const SortCall<T>& call, int round, const int (&bucket)[kRounds],
                           Counters& counters, int32_t* order) {
  const int lane = threadIdx.x % kWarpLanes;
  int32_t* next = counters.next[threadIdx.x / kWarpLanes];
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int k = call.FirstBox(round + r);
    if (round + r >= call.rounds() || k >= call.p.k) break;
    const int b = bucket[r];
    const unsigned alike = __match_any_sync(kWholeWarp, b);
    const int rank = __popc(alike & ((1u << lane) - 1));
    if (b >= 0) order[counters.first[b] + next[b] + rank] = k + lane;
    __syncwarp();
    if (b >= 0 && rank == 0) next[b] += __popc(alike);
    __syncwarp();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) SortLists(SortCall<T> call) {
  __shared__ Counters counters;
  const int thread = threadIdx.x;
  int32_t* own = counters.next[thread / kWarpLanes];
  int bucket[kRounds];
  for (int list = blockIdx.x; list < call.p.n * kBorders; list += gridDim.x) {
    for (int i = thread % kWarpLanes; i < kCounters; i += kWarpLanes) own[i] = 0;
    __syncwarp();
    for (int round = 0; round < call.rounds(); round += kRounds) {
      FindBuckets(call, list, round, bucket);
#pragma unroll
      for (int b : bucket) {
        if (b >= 0) atomicAdd(&own[b], 1);
      }
    }
    __syncthreads();
    SumCounters(counters);
    int32_t* order = call.order + int64_t{list} * call.p.k;
    for (int round = 0; round < call.rounds(); round += kRounds) {
      if (call.rounds() > kRounds) FindBuckets(call, list, round, bucket);
      PlaceBoxes(call, round, bucket, counters, order);
    }
    int32_t* offsets = call.offsets + int64_t{list} * (kCounters + 1);
    if (thread <= kCounters) offsets[thread] = counters.first[thread];
    __syncthreads();
  }
}

int64_t OffsetsCount(const Problem& p) { return int64_t{p.n} * kBorders * (kCounters + 1); }

template <typename T>
Lists Sort(const Problem& p, const T* boxes, CudaContext& context) {
  auto* offsets = static_cast<int32_t*>(context.Scratch(ListsBytes(p)));
  int32_t* order = offsets + OffsetsCount(p);
  context.Launch(SortLists<T>, {int64_t{p.n} * kBorders, kThreads},
                 SortCall<T>{p, boxes, offsets, order});
  return {offsets, order};
}

}  // namespace

size_t ListsBytes(const Problem& p) {
  return static_cast<size_t>(OffsetsCount(p) + int64_t{p.n} * kBorders * p.k) * sizeof(int32_t);
}

Lists SortEdges(const Problem& p, const float* boxes, CudaContext& context) {
  return Sort(p, boxes, context);
}
Lists SortEdges(const Problem& p, const __half* boxes, CudaContext& context) {
  return Sort(p, boxes, context);
}

}  // namespace mluop::border_align
