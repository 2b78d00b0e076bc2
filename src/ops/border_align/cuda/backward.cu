// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, without atomics. All samples of an edge lie between the
// same two lines of the map, so the owner of a line visits two buckets of edges. A block owns a
// line's pixels, each of its warps 32 channels: it sums in shared memory, in the order of the
// lists, and writes every element once. The warps share the places of the samples. Bound by reading
// each gradient and index twice, the second time from L2, and by the accesses of shared memory.
#include <algorithm>

#include "ops/border_align/cuda/batches.h"
#include "ops/border_align/cuda/tuning.h"

namespace mluop::border_align {
namespace {

constexpr int kMaxWarps = 4;  // of a block
// Warps per SM that registers must suffice for; the sums of small maps leave room for them.
constexpr int kResidentWarps = 12;
// Half a batch: loads of its gradients and indices are in flight while the other half is added.
constexpr int kHalf = kBatch / 2;

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
  const int32_t* argmax;  // of box 0

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

// Adds all edges of an owner: a batch, while the places of the next one are computed and the loads
// of its gradients and indices are in flight.
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
__global__ void __launch_bounds__(kWarps* kWarpLanes, kResidentWarps / kWarps)
    SumOwners(const __grid_constant__ BackwardCall<T> call) {
  const Shared shared = MakeShared(call);
  const int thread = threadIdx.x % kWarpLanes;
  for (int64_t i = blockIdx.x; i < call.owners(); i += gridDim.x) {
    const Owner owner = MakeOwner(call, i);
    if (owner.pixels == 0) continue;
    auto* sums = reinterpret_cast<float4*>(shared.sums);
    for (int s = thread; s < (owner.pixels + kExtraSums) * kWarpLanes / 4; s += kWarpLanes) {
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

mluOpStatus_t RunSorted(const CudaCall<Problem>& c, void* scratch) {
  const Lists lists = SortEdges(c, scratch);
  return WithType(c, [&](auto element) {
    using T = decltype(element);
    const Problem& p = c.p;
    const Arguments& a = c.arguments;
    BackwardCall<T> call = {p,
                            a.In<T>("grad_output"),
                            a.In<T>("boxes"),
                            a.In<int32_t>("argmax_idx"),
                            a.Out<T>("grad_input"),
                            lists,
                            kMaxWarps,
                            static_cast<int>(std::min<int64_t>(p.samples(), kMaxWindow)),
                            std::min(std::max(p.h, p.w), kMaxPixels)};
    // At least two blocks per SM: one adds while the other starts or ends.
    while (call.warps > 1 && (SharedBytes(call) > c.context.shared_bytes() / 2 ||
                              p.c <= call.warps / 2 * kWarpLanes)) {
      call.warps /= 2;
    }
    Launch(call, c.context);
  });
}

constexpr CudaImplementation<Problem> kBackward[] = {
    {"sorted", "always", Always, ListsBytes, RunSorted},
};

}  // namespace

constexpr CudaOperator kBackwardCuda = Bind<MakeProblem, kBackward>("border_align_backward");

}  // namespace mluop::border_align
