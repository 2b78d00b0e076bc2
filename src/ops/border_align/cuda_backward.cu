// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, without atomics. All samples of an edge lie between the same
// two lines of the map, so that an owner of a line meets two buckets of edges. A block owns a line's
// pixels, each of its warps 32 channels: it sums in shared memory, in the order of the lists, and
// writes every element once. The warps share where the samples lie. Bound by reading each gradient
// and index twice, the second time from the second cache, and by the accesses of shared memory.
#include <algorithm>

#include "ops/border_align/cuda_owners.h"

namespace mluop::border_align {
namespace {

// Boxes that every owner looks at itself: fewer than the launch of a sort is worth.
constexpr int kFewBoxes = 128;
// Edges at a time, and warps of a block at most.
constexpr int kBatch = kWarpLanes;
#ifndef V_WARPS
#define V_WARPS 4
#endif
constexpr int kMostWarps = V_WARPS;
constexpr int kMostWindow = 32;
// Half a batch: its gradients and indices are on their way while the other half is added.
constexpr int kHalf = kBatch / 2;
// Sums beside those of an owner's pixels: of the pixel before, the one after, and two for what lies
// elsewhere. The higher pixel of a sample is always the next: where the map ends, its weight is 0, and
// what comes of that is added to the last pixel at the end: 0, or NaN from infinite gradients.
constexpr int kMoreSums = 4;

// A sample's lower pixel, as bytes into a warp's sums, and what the higher one weighs. One word of 8
// bytes, so that one instruction loads it.
struct Place {
  uint2 word;

  __device__ uint32_t low() const { return word.x; }
  __device__ float above() const { return __uint_as_float(word.y); }
};

// The edges of a batch that touch the owner's line. Those beyond the last one have box 0's gradients, and
// all their samples lie elsewhere.
struct __align__(16) LineEdges {
  int offset[kBatch];    // of an edge's gradients, in elements
  float weight[kBatch];  // of the line
  float start[kBatch], step[kBatch];
};

constexpr int RowOf(int window) { return (window + 1) | 1; }  // odd: no two lanes in a bank

// What a block has in shared memory, as one of its warps sees it.
struct Shared {
  float* sums;       // [pixels + kMoreSums, 32], the warp's own
  LineEdges* edges;  // [2], the warp's own
  Place* places;     // [2, kBatch, row], the block's
  int row;
};

template <typename T>
size_t SharedBytes(const BackwardCall<T>& call) {
  const size_t sums = static_cast<size_t>(call.pixels + kMoreSums) * kWarpLanes * sizeof(float);
  return call.warps * (sums + 2 * sizeof(LineEdges)) +
         size_t{2} * kBatch * RowOf(call.window) * sizeof(Place);
}

template <typename T>
__device__ Shared MakeShared(const BackwardCall<T>& call) {
  extern __shared__ __align__(16) float memory[];
  const int warp = threadIdx.x / kWarpLanes, sums = (call.pixels + kMoreSums) * kWarpLanes;
  auto* edges = reinterpret_cast<LineEdges*>(memory + call.warps * sums);
  auto* places = reinterpret_cast<Place*>(edges + call.warps * 2);
  return {memory + warp * sums, edges + warp * 2, places, RowOf(call.window)};
}

// Reads the owner's edges, a batch after the other; every warp for itself. Boxes and their indices are
// on their way while earlier batches are added.
template <typename T>
class Reader {
 public:
  __device__ Reader(const BackwardCall<T>& call, const Owner& owner)
      : call_(call), owner_(owner), candidates_(FindCandidates(call, owner)) {
    k_ = candidates_.Box(Lane(), run_);
    FetchBox();
  }

  __device__ bool more() const { return at_ < candidates_.total(); }

  // Puts the next candidates that touch the owner's line into `edges`; returns how many.
  __device__ int Next(LineEdges* edges) {
    const Edge edge = MakeEdge(box_, owner_.border, call_.p.pool_size);
    const Neighbours at = FindNeighbours(edge.fixed, owner_.lines);
    const bool touches = box_k_ >= 0 && at.inside && at.low == box_run_.low;
    const unsigned all = __ballot_sync(kWholeWarp, touches);
    const int count = __popc(all);
    // Behind the edges that touch the line come the others.
    const unsigned before = (1u << Lane()) - 1;
    const int place = touches ? __popc(all & before) : count + __popc(~all & before);
    edges->offset[place] = touches ? box_k_ * kBorders * call_.p.c : 0;
    edges->weight[place] = box_run_.high == 1 ? at.high_weight : at.low_weight;
    edges->start[place] = edge.start;
    edges->step[place] = edge.step;
    __syncwarp();
    at_ += kBatch;
    FetchBox();
    return count;
  }

 private:
  static __device__ int Lane() { return threadIdx.x % kWarpLanes; }

  __device__ void FetchBox() {
    box_k_ = k_;
    box_run_ = run_;
    if (k_ >= 0) box_ = LoadBox(call_.boxes, int64_t{owner_.image} * call_.p.k + k_);
    k_ = candidates_.Box(at_ + kBatch + Lane(), run_);
  }

  const BackwardCall<T>& call_;
  const Owner owner_;
  const Candidates candidates_;
  int at_ = 0;  // the first candidate of the batch that is next
  int box_k_, k_;
  Run box_run_, run_;
  Box box_ = {};
};

// The places of the next `samples` samples of an edge, a lane each, those that are the warp's, and
// after them the one for what lies elsewhere. `valid`: the lane has an edge.
template <int kWarps>
__device__ void FillPlaces(const Owner& owner, int samples, bool valid, Walk<kWarps>& walk,
                           Place* places) {
  constexpr uint32_t kPixelBytes = kWarpLanes * sizeof(float);
  const uint32_t elsewhere = (owner.pixels + 2) * kPixelBytes;
  if (threadIdx.x < kWarpLanes) places[samples] = {{elsewhere, 0}};
  walk.Next(samples, [&](int i, float position) {
    const Neighbours at = FindNeighbours(position, owner.size);
    const int slot = at.low - owner.first + 1;
    const bool own = valid && at.inside && slot >= 0 && slot <= owner.pixels;
    places[i] = {{own ? slot * kPixelBytes : elsewhere, __float_as_uint(at.high_weight)}};
  });
}

// A batch and the samples of it that have places.
struct Batch {
  const LineEdges* edges;
  const Place* places;  // [kBatch, row]
  int count;
  uint32_t begin, samples;
};

// Gradients and indices of half a batch, as they were read.
template <typename T>
struct Visits {
  T gradient[kHalf];
  int32_t index[kHalf];
};

// One lane's channel.
template <typename T>
struct Lane {
  const T* gradient;      // of box 0
  const int32_t* argmax;  // alike

  // kSecond: the second half.
  template <int kSecond>
  __device__ void Read(const Batch& batch, Visits<T>& visits) const {
    if (batch.count <= kSecond * kHalf) return;
    int offset[kHalf];
    Copy(batch.edges->offset + kSecond * kHalf, offset);
#pragma unroll
    for (int u = 0; u < kHalf; ++u) {
      visits.gradient[u] = __ldg(gradient + offset[u]);
      visits.index[u] = __ldg(argmax + offset[u]);
    }
  }

  template <int kSecond>
  __device__ void Add(const Batch& batch, const Visits<T>& visits, const Shared& shared) const {
    if (batch.count <= kSecond * kHalf) return;
    Place place[kHalf];
    float weight[kHalf];
    Copy(batch.edges->weight + kSecond * kHalf, weight);
    const Place* row = batch.places + kSecond * kHalf * shared.row;
#pragma unroll
    for (int u = 0; u < kHalf; ++u, row += shared.row) {
      const uint32_t sample = static_cast<uint32_t>(visits.index[u]) - batch.begin;
      place[u].word = row[min(sample, batch.samples)].word;
    }
    char* sums = reinterpret_cast<char*>(shared.sums + threadIdx.x % kWarpLanes);
#pragma unroll
    for (int u = 0; u < kHalf; ++u) {
      auto* low = reinterpret_cast<float*>(sums + place[u].low());
      const float part = AsFloat(visits.gradient[u]) * weight[u];
      const float low_sum = fmaf(1.0f - place[u].above(), part, low[0]);
      const float high_sum = fmaf(place[u].above(), part, low[kWarpLanes]);
      low[0] = low_sum;
      low[kWarpLanes] = high_sum;
    }
  }

 private:
  // Four at a time.
  template <typename Element>
  static __device__ void Copy(const Element* from, Element (&to)[kHalf]) {
#pragma unroll
    for (int u = 0; u < kHalf; u += 4) {
      const int4 four = *reinterpret_cast<const int4*>(from + u);
      const int word[] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int v = 0; v < 4; ++v) to[u + v] = Bits(word[v], Element());
    }
  }
  static __device__ int Bits(int word, int) { return word; }
  static __device__ float Bits(int word, float) { return __int_as_float(word); }
};

__device__ void Assign(float value, float* to) { __stcs(to, value); }
__device__ void Assign(float value, __half* to) { __stcs(to, __float2half_rn(value)); }

template <typename T>
__device__ void WriteSums(const BackwardCall<T>& call, const Owner& owner, const float* all) {
  if (owner.channel >= call.p.c) return;
  const Axes axes = MakeAxes(call.p, owner.border);
  T* to = call.grad_input + owner.image * call.p.pixels() * call.p.channels() +
          int64_t{owner.line} * axes.fixed_stride + int64_t{owner.first} * axes.moving_stride +
          owner.border * call.p.c + owner.channel;
  const float* sums = all + kWarpLanes + threadIdx.x % kWarpLanes;
  const int last = owner.pixels - 1;
#pragma unroll 4
  for (int i = 0; i < last; ++i) {
    Assign(sums[i * kWarpLanes], to + int64_t{i} * axes.moving_stride);
  }
  const bool end = owner.first + owner.pixels == owner.size;
  const float beyond = end ? sums[(last + 1) * kWarpLanes] : 0.0f;
  Assign(sums[last * kWarpLanes] + beyond, to + int64_t{last} * axes.moving_stride);
}

// Goes through an owner's edges, batch by batch, and through the samples of a batch, window by window.
template <typename T, int kWarps>
class Batches {
 public:
  __device__ Batches(const BackwardCall<T>& call, const Owner& owner, const Shared& shared)
      : reader_(call, owner),
        owner_(owner),
        shared_(shared),
        window_(call.window),
        all_(static_cast<uint32_t>(call.p.samples())),
        begin_(all_) {}

  // Works out the next places; false: there are none.
  __device__ bool Next(Batch& batch) {
    const int lane = threadIdx.x % kWarpLanes;
    begin_ += window_;
    if (begin_ >= all_) {
      if (!reader_.more()) return false;
      begin_ = 0;
      edges_ ^= 1;
      LineEdges* edges = shared_.edges + edges_;
      count_ = reader_.Next(edges);
      walk_ = Walk<kWarps>({edges->start[lane], edges->step[lane], 0}, threadIdx.x / kWarpLanes);
    }
    places_ ^= 1;
    Place* places = shared_.places + places_ * kBatch * shared_.row;
    batch = {shared_.edges + edges_, places, count_, begin_, min(window_, all_ - begin_)};
    FillPlaces(owner_, static_cast<int>(batch.samples), lane < count_, walk_,
               places + lane * shared_.row);
    return true;
  }

 private:
  Reader<T> reader_;
  const Owner owner_;
  const Shared shared_;
  const uint32_t window_, all_;
  uint32_t begin_;              // of the window
  int count_ = 0;               // edges of the batch
  int edges_ = 0, places_ = 0;  // which of two
  Walk<kWarps> walk_;
};

// Adds all edges of an owner: a batch, while the places of the next one are worked out and its
// gradients and indices are on their way.
template <typename T, int kWarps>
__device__ void AddEdges(const BackwardCall<T>& call, const Owner& owner, const Lane<T>& lane,
                         const Shared& shared) {
  Batches<T, kWarps> batches(call, owner, shared);
  Batch now = {};
  Visits<T> first, second;
  bool more = true;
  while (more) {
    Batch next = {};
    more = batches.Next(next);
    lane.template Add<0>(now, first, shared);
    lane.template Read<0>(next, first);
    lane.template Add<1>(now, second, shared);
    lane.template Read<1>(next, second);
    now = next;
    __syncthreads();
  }
}

template <typename T, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarpLanes, 12 / kWarps)
    SumOwners(const __grid_constant__ BackwardCall<T> call) {
  const Shared shared = MakeShared(call);
  const int thread = threadIdx.x % kWarpLanes;
  for (int64_t i = blockIdx.x; i < call.owners(); i += gridDim.x) {
    const Owner owner = MakeOwner(call, i);
    if (owner.pixels == 0) continue;
    auto* sums = reinterpret_cast<float4*>(shared.sums);
    for (int s = thread; s < (owner.pixels + kMoreSums) * kWarpLanes / 4; s += kWarpLanes) {
      sums[s] = {0, 0, 0, 0};
    }
    __syncwarp();
    // Lanes without a channel read the first one.
    const int64_t results = (int64_t{owner.image} * call.p.k * kBorders + owner.border) * call.p.c +
                            (owner.channel < call.p.c ? owner.channel : 0);
    AddEdges<T, kWarps>(call, owner, Lane<T>{call.grad_output + results, call.argmax + results},
                        shared);
    WriteSums(call, owner, shared.sums);
  }
}

template <typename T>
void Launch(const BackwardCall<T>& call, CudaContext& context) {
  const Grid grid = {call.owners(), call.warps * kWarpLanes, SharedBytes(call)};
  switch (call.warps) {
    case 1: return context.Launch(SumOwners<T, 1>, grid, call);
    case 2: return context.Launch(SumOwners<T, 2>, grid, call);
    default: return context.Launch(SumOwners<T, 4>, grid, call);
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
                          kMostWarps,
                          0,
                          0};
  const Problem& p = call.p;
  call.window = static_cast<int>(std::min<int64_t>(p.samples(), kMostWindow));
  call.pixels = std::min(std::max(p.h, p.w), kMostPixels);
  // Two blocks of a processor at least: one adds while the other begins or ends.
  while (call.warps > 1 &&
         (SharedBytes(call) > context.shared_bytes() / 2 || p.c <= call.warps / 2 * kWarpLanes)) {
    call.warps /= 2;
  }
  if (p.k > kFewBoxes) call.lists = SortEdges(p, call.boxes, context);
  Launch(call, context);
  return context.status();
}

}  // namespace

mluOpStatus_t BackwardCuda(const Arguments& a, CudaContext& context) {
  return a.Type() == MLUOP_DTYPE_HALF ? Backward<__half>(a, context) : Backward<float>(a, context);
}

}  // namespace mluop::border_align
