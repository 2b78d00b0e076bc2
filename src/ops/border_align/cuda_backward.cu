// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, without atomics. All samples of an edge lie between the same
// two lines of the map, so that an owner of a line meets two buckets of edges. A warp owns 32 channels
// of a line's pixels: it sums in shared memory, in the order of the lists, and writes every element
// once. Bound by reading each gradient and index twice, the second time from the second cache, and
// by the four accesses of shared memory that an addition to two pixels takes.
#include <algorithm>

#include "ops/border_align/cuda_owners.h"

namespace mluop::border_align {
namespace {

// Boxes that every owner looks at itself: fewer than the launch of a sort is worth.
constexpr int kFewBoxes = 128;
// Places of samples in shared memory, with one per edge for what lies elsewhere.
constexpr int kPlaces = 544;
constexpr int kWindow = 512;  // samples of an edge that has more
// Gradients and indices of edges that a lane has on their way while it adds as many.
constexpr int kAhead = 8;

// Two pixels of the owner, as bytes into its sums; what is not the owner's goes to one behind them.
// One word of 8 bytes, so that one instruction loads it.
struct Place {
  uint2 word;

  __device__ uint32_t low() const { return word.x & 0xffff; }
  __device__ uint32_t high() const { return word.x >> 16; }
  __device__ float above() const { return __uint_as_float(word.y); }  // the weight of high
};

// An edge in shared memory. `again`: all bits where the line is both of the edge's lines, which adds
// the gradient a second time with weight 0: infinity becomes NaN. The weight is 0 then.
struct __align__(8) LineEdge {
  float weight;
  uint32_t again;
  float start, step;
  int box;
};

// A warp's shared memory.
struct Shared {
  float* sums;      // [pixels + 1, 32]
  Place* places;    // [edges, window + 1]
  LineEdge* edges;  // [edges]
};

template <typename T>
__device__ Shared MakeShared(const BackwardCall<T>& call) {
  extern __shared__ __align__(16) float memory[];
  auto* places = reinterpret_cast<Place*>(memory + (call.pixels + 1) * kWarpLanes);
  return {memory, places, reinterpret_cast<LineEdge*>(places + call.edges * (call.window + 1))};
}

// Puts those of the lanes' boxes that touch the owner's line into shared memory; returns how many.
// k < 0: the lane has none.
template <typename T>
__device__ int GatherEdges(const BackwardCall<T>& call, const Owner& owner, int k, const Box& box,
                           LineEdge* edges) {
  const int lane = threadIdx.x % kWarpLanes;
  const Edge edge = MakeEdge(box, owner.border, call.p.pool_size);
  const Neighbours at = FindNeighbours(edge.fixed, MakeAxes(call.p, owner.border).fixed_size);
  const bool low = at.low == owner.line, high = at.high == owner.line;
  const bool touches = k >= 0 && at.inside && (low || high);
  const unsigned all = __ballot_sync(kWholeWarp, touches);
  if (touches) {
    const bool both = low && high;
    const float weight = both ? 0 : low ? at.low_weight : at.high_weight;
    edges[__popc(all & ((1u << lane) - 1))] = {weight, both ? ~0u : 0u, edge.start, edge.step, k};
  }
  __syncwarp();
  return __popc(all);
}

// The places of an edge's next `count` samples, and after them the one for what lies elsewhere.
__device__ void FillPlaces(const Owner& owner, int size, int count, Walk& walk, Place* places) {
  const auto bytes = [&](int pixel) {
    const int at = pixel - owner.first;
    const bool own = at >= 0 && at < owner.pixels;
    return static_cast<uint32_t>(own ? at : owner.pixels) * kWarpLanes * uint32_t{sizeof(float)};
  };
  const auto place = [&](int low, int high, float above) {
    return Place{{bytes(low) | bytes(high) << 16, __float_as_uint(above)}};
  };
  walk.Next(count, [&](int i, float position) {
    const Neighbours at = FindNeighbours(position, size);
    places[i] = at.inside ? place(at.low, at.high, at.high_weight) : place(-1, -1, 0);
  });
  if (walk.first() == 0) places[count] = place(-1, -1, 0);
}

// Gradients and indices of kAhead edges, as they were read.
template <typename T>
struct Visits {
  T gradient[kAhead];
  int32_t index[kAhead];
};

// One lane's channel and the edges that its warp has gathered.
template <typename T>
struct Lane {
  const T* gradient;      // of box 0; valid if active
  const int32_t* argmax;  // alike
  int box_stride;
  bool active;
  int count;  // edges

  // Edges beyond the last: no sample.
  __device__ void Read(const Shared& shared, int first, Visits<T>& visits) const {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      visits.gradient[u] = T(0.0f);
      visits.index[u] = -1;
      if (!active || first + u >= count) continue;
      const int64_t at = int64_t{shared.edges[first + u].box} * box_stride;
      visits.gradient[u] = __ldg(gradient + at);
      visits.index[u] = __ldg(argmax + at);
    }
  }

  // Adds what chose one of the `samples` from `begin` on.
  __device__ void Add(const Shared& shared, int first, const Visits<T>& visits, uint32_t begin,
                      int samples, int window) const {
    Place place[kAhead];
    float part[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int i = min(first + u, count - 1);
      const uint32_t sample = static_cast<uint32_t>(visits.index[u]) - begin;
      place[u] = shared.places[i * (window + 1) + min(sample, static_cast<uint32_t>(samples))];
      const float value = AsFloat(visits.gradient[u]);
      part[u] = fmaf(value, shared.edges[i].weight,
                     __uint_as_float(__float_as_uint(value) & shared.edges[i].again));
    }
    char* sums = reinterpret_cast<char*>(shared.sums + threadIdx.x % kWarpLanes);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      auto* low = reinterpret_cast<float*>(sums + place[u].low());
      auto* high = reinterpret_cast<float*>(sums + place[u].high());
      const float low_sum = fmaf(1.0f - place[u].above(), part[u], *low);
      const float high_sum = fmaf(place[u].above(), part[u], low == high ? low_sum : *high);
      *low = low_sum;
      *high = high_sum;
    }
  }
};

// Adds the gathered edges to the owner's sums.
template <typename T>
__device__ void AddEdges(const BackwardCall<T>& call, const Owner& owner, const Lane<T>& lane,
                         const Shared& shared) {
  const int stride = kWarpLanes / call.edges, thread = threadIdx.x % kWarpLanes;
  const int own = min(thread / stride, lane.count - 1);
  const int size = MakeAxes(call.p, owner.border).moving_size;
  const Edge edge = {shared.edges[own].start, shared.edges[own].step, 0};
  Walk walk(edge, thread % stride, stride);
  for (int64_t begin = 0; begin < call.p.samples(); begin += call.window) {
    const int samples = static_cast<int>(min(int64_t{call.window}, call.p.samples() - begin));
    Visits<T> visits, next;
    lane.Read(shared, 0, next);
    if (thread / stride < lane.count) {
      FillPlaces(owner, size, samples, walk, shared.places + own * (call.window + 1));
    }
    __syncwarp();
    for (int first = 0; first < lane.count; first += kAhead) {
      visits = next;
      lane.Read(shared, first + kAhead, next);
      lane.Add(shared, first, visits, static_cast<uint32_t>(begin), samples, call.window);
    }
    __syncwarp();
  }
}

__device__ void Assign(float value, float* to) { __stcs(to, value); }
__device__ void Assign(float value, __half* to) { __stcs(to, __float2half_rn(value)); }

template <typename T>
__device__ void WriteSums(const BackwardCall<T>& call, const Owner& owner, const float* sums) {
  if (owner.channel >= call.p.c) return;
  const Axes axes = MakeAxes(call.p, owner.border);
  T* to = call.grad_input + owner.image * call.p.pixels() * call.p.channels() +
          int64_t{owner.line} * axes.fixed_stride + int64_t{owner.first} * axes.moving_stride +
          owner.border * call.p.c + owner.channel;
#pragma unroll 4
  for (int i = 0; i < owner.pixels; ++i) {
    Assign(sums[i * kWarpLanes + threadIdx.x % kWarpLanes], to + int64_t{i} * axes.moving_stride);
  }
}

template <typename T>
__device__ void SumOwner(const BackwardCall<T>& call, const Owner& owner, const Shared& shared) {
  const int thread = threadIdx.x;
  const Candidates candidates = FindCandidates(call, owner);
  const int64_t first_box = int64_t{owner.image} * call.p.k;
  const auto fetch = [&](int i, Box& box) {
    if (thread >= call.edges || i + thread >= candidates.total()) return -1;
    const int k = candidates.Box(i + thread);
    box = LoadBox(call.boxes, first_box + k);
    return k;
  };
  const bool active = owner.channel < call.p.c;
  const int64_t results =
      (first_box * kBorders + owner.border) * call.p.c + (active ? owner.channel : 0);
  Lane<T> lane = {call.grad_output + results, call.argmax + results, kBorders * call.p.c, active,
                  0};
  Box box = {}, next_box = {};
  int k = fetch(0, box);
  for (int i = 0; i <= owner.pixels; ++i) shared.sums[i * kWarpLanes + thread] = 0;
  for (int i = 0; i < candidates.total(); i += call.edges) {
    const int next_k = fetch(i + call.edges, next_box);
    lane.count = GatherEdges(call, owner, k, box, shared.edges);
    if (lane.count > 0) AddEdges(call, owner, lane, shared);
    k = next_k;
    box = next_box;
  }
  WriteSums(call, owner, shared.sums);
}

template <typename T>
__global__ void __launch_bounds__(kWarpLanes) SumOwners(BackwardCall<T> call) {
  const Shared shared = MakeShared(call);
  for (int64_t i = blockIdx.x; i < call.owners(); i += gridDim.x) {
    SumOwner(call, MakeOwner(call, static_cast<int>(i)), shared);
  }
}

template <typename T>
mluOpStatus_t Backward(const Arguments& a, CudaContext& context) {
  BackwardCall<T> call = {MakeProblem(a),
                          a.In<T>("grad_output"),
                          a.In<T>("boxes"),
                          a.In<int32_t>("argmax_idx"),
                          a.Out<T>("grad_input"),
                          {},
                          kWarpLanes,
                          0,
                          0};
  const Problem& p = call.p;
  while (call.edges > 1 && call.edges * (p.samples() + 1) > kPlaces) call.edges /= 2;
  const int64_t most = call.edges > 1 ? p.samples() : kWindow;
  call.window = static_cast<int>(std::min(p.samples(), most));
  call.pixels = std::min(std::max(p.h, p.w), kMostPixels);
  if (p.k > kFewBoxes) call.lists = SortEdges(p, call.boxes, context);
  const size_t bytes = static_cast<size_t>(call.pixels + 1) * kWarpLanes * sizeof(float) +
                       static_cast<size_t>(call.edges) * (call.window + 1) * sizeof(Place) +
                       static_cast<size_t>(call.edges) * sizeof(LineEdge);
  context.Launch(SumOwners<T>, {call.owners(), kWarpLanes, bytes}, call);
  return context.status();
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  return a.Type() == MLUOP_DTYPE_HALF ? Backward<__half>(a, context) : Backward<float>(a, context);
}

}  // namespace mluop::border_align
