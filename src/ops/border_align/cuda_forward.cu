// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices. A warp takes an edge, its lanes channels; the instructions of
// the loop over samples are the bound, while the map is read from the first cache. For that a
// block fills a processor and its warps take neighbouring edges of the order of lines.
#include <algorithm>

#include "ops/border_align/cuda.h"
#include "ops/border_align/cuda_pool.h"

namespace mluop::border_align {
namespace {

// Samples in the table of a warp: of two edges where they fit, so that working them out keeps more
// lanes busy. One edge may have more samples than the table, and then more state.
constexpr int kTable = 32;
constexpr int kMostEdges = 2;

// One block fills a processor's registers, or two that have one edge a warp.
constexpr int Threads(int vector, int edges) { return edges == 1 ? 512 : vector == 8 ? 768 : 1024; }

// What the first cache holds for sure. Where a slice of channels of the map is no larger, and where
// lines have few edges, the order of edges does not matter.
constexpr int64_t kCacheBytes = 128 << 10;
constexpr int kEdgesPerLine = 4;

template <typename T>
struct ForwardCall {
  Problem p;
  const T* input;        // [N, H, W, 4*C]
  const T* boxes;        // [N, K, 4]
  const int32_t* order;  // [N, 4, K] or NULL
  T* output;             // [N, K, 4, C]
  int32_t* argmax;       // [N, K, 4, C]
  int groups;            // of channels that a warp takes at once

  MLUOP_HOST_DEVICE uint32_t all_edges() const {
    return static_cast<uint32_t>(p.n) * kBorders * static_cast<uint32_t>(p.k);
  }
  // An item is an edge and a group of channels: fewer than elements of the output.
  MLUOP_HOST_DEVICE uint32_t items() const { return all_edges() * groups; }
};

// An item: [groups, N*4, K].
struct Item {
  uint32_t group, list, rank;
};

template <typename T>
__device__ Item MakeItem(const ForwardCall<T>& call, uint32_t i) {
  const uint32_t k = static_cast<uint32_t>(call.p.k), edge = i % call.all_edges();
  return {i / call.all_edges(), edge / k, edge % k};
}

// What a warp needs of its edges: each lane walks one of them.
struct WarpEdges {
  Sample table[kTable];
  EdgeLines lines[kMostEdges];
};

// A lane's part in working out the samples of its edge.
struct Filler {
  Walk walk;
  int moving_size, moving_stride;
  bool inside;  // the edge; else none of its samples is

  __device__ void Fill(int count, Sample* table) {
    walk.Next(count, [&](int i, float position) {
      Neighbours at = FindNeighbours(position, moving_size);
      at.inside = at.inside && inside;
      table[i] = MakeSample(at, moving_stride);
    });
  }
};

// `first` and `stride`: the lane's samples.
template <typename T, int kVector>
__device__ Filler StartEdge(const ForwardCall<T>& call, const Item& item, int first, int stride,
                            EdgeLines* lines) {
  const Problem& p = call.p;
  const int border = static_cast<int>(item.list % kBorders);
  const int image = static_cast<int>(item.list / kBorders);
  const Axes axes = MakeAxes(p, border);
  const int k = call.order == nullptr ? static_cast<int>(item.rank)
                                      : call.order[int64_t{item.list} * p.k + item.rank];
  const int box = image * p.k + k;
  const Edge edge = MakeEdge(LoadBox(call.boxes, box), border, p.pool_size);
  const Neighbours at = FindNeighbours(edge.fixed, axes.fixed_size);
  if (first == 0) {
    const int pixels = image * p.h * p.w * kBorders * p.c + border * p.c;
    *lines = {pixels + at.low * axes.fixed_stride,
              pixels + at.high * axes.fixed_stride,
              at.low_weight,
              at.high_weight,
              (box * kBorders + border) * p.c,
              static_cast<int>(item.group) * kVector * kWarpLanes};
  }
  return {Walk(edge, first, stride), axes.moving_size, axes.moving_stride, at.inside};
}

// One edge of a warp's table, and all its samples: the first of them are in the table.
template <typename T, int kVector, int kEdges>
__device__ void PoolEdge(const ForwardCall<T>& call, int edge, Filler& filler, WarpEdges& shared) {
  constexpr int kWindow = kTable / kEdges;
  const EdgeLines lines = shared.lines[edge];
  const int own = lines.channel + static_cast<int>(threadIdx.x) % kWarpLanes * kVector;
  // Lanes without channels read the first ones.
  const int channel = own < call.p.c ? own : 0;
  Pool<T, kVector> pool(call.input + lines.low + channel, call.input + lines.high + channel, lines);
  const Sample* table = shared.table + edge * kWindow;
  int64_t begin = 0;
  while (true) {
    const int count = static_cast<int>(min(int64_t{kWindow}, call.p.samples() - begin));
#pragma unroll 1
    for (int i = 0; i < count; ++i) pool.Add(LoadSample(table[i]), static_cast<int>(begin) + i);
    begin += kWindow;
    if (kEdges > 1 || begin >= call.p.samples()) break;
    __syncwarp();
    filler.Fill(static_cast<int>(min(int64_t{kWindow}, call.p.samples() - begin)), shared.table);
    __syncwarp();
  }
  if (own < call.p.c) {
    pool.Store(call.output + lines.result + own, call.argmax + lines.result + own);
  }
}

template <typename T, int kVector, int kEdges>
__global__ void __launch_bounds__(Threads(kVector, kEdges), 1) PoolEdges(ForwardCall<T> call) {
  constexpr int kWarps = Threads(kVector, kEdges) / kWarpLanes, kStep = kWarps * kEdges;
  constexpr int kWindow = kTable / kEdges, kStride = kWarpLanes / kEdges;
  __shared__ WarpEdges all[kWarps];
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  const int edge = lane / kStride, first = lane % kStride;
  WarpEdges& shared = all[warp];
  // A block has one run of items, so that its lines change slowly.
  const uint64_t items = call.items();
  const uint32_t end = static_cast<uint32_t>(items * (blockIdx.x + 1) / gridDim.x);
  uint32_t i = static_cast<uint32_t>(items * blockIdx.x / gridDim.x) + warp * kEdges;
  Item item = MakeItem(call, i + edge);
  for (; i < end; i += kStep) {
    // May be beyond the end: worked out, not pooled.
    Filler filler = StartEdge<T, kVector>(call, item, first, kStride, shared.lines + edge);
    filler.Fill(static_cast<int>(min(int64_t{kWindow}, call.p.samples())),
                shared.table + edge * kWindow);
    __syncwarp();
    const int edges = static_cast<int>(min(end - i, uint32_t{kEdges}));
    for (int e = 0; e < edges; ++e) PoolEdge<T, kVector, kEdges>(call, e, filler, shared);
    __syncwarp();
    item.rank += kStep;
    if (item.rank >= static_cast<uint32_t>(call.p.k)) item = MakeItem(call, i + kStep + edge);
  }
}

template <typename T, int kVector, int kEdges>
void LaunchEdges(const ForwardCall<T>& call, CudaContext& context) {
  const int64_t blocks = int64_t{context.processors()} * (kEdges == 1 ? 2 : 1);
  const Grid grid = {std::min(blocks, CeilDiv(call.items(), kEdges)), Threads(kVector, kEdges)};
  context.Launch(PoolEdges<T, kVector, kEdges>, grid, call);
}

template <typename T, int kVector>
mluOpStatus_t Launch(ForwardCall<T> call, CudaContext& context) {
  const Problem& p = call.p;
  constexpr int kGroup = kVector * kWarpLanes;
  call.groups = static_cast<int>(CeilDiv(p.c, kGroup));
  const int64_t slice = p.pixels() * kGroup * static_cast<int64_t>(sizeof(T));
  if (slice > kCacheBytes && p.k >= int64_t{kEdgesPerLine} * std::min(p.h, p.w)) {
    call.order = SortEdges(p, call.boxes, context).order;
  }
  const int64_t warps = int64_t{context.processors()} * Threads(kVector, 1) / kWarpLanes;
  if (p.samples() <= kTable / 2 && call.items() > warps) {
    LaunchEdges<T, kVector, 2>(call, context);
  } else {
    LaunchEdges<T, kVector, 1>(call, context);
  }
  return context.status();
}

// Whether kVector channels of all tensors lie aligned, and are not too many: more than half of a
// warp's lanes should have some.
template <typename T, int kVector>
bool VectorPays(const ForwardCall<T>& call) {
  const auto aligned = [](const void* data, size_t element) {
    return reinterpret_cast<uintptr_t>(data) % std::min<size_t>(16, kVector * element) == 0;
  };
  return call.p.c % kVector == 0 && call.p.c > kVector * kWarpLanes / 2 &&
         aligned(call.input, sizeof(T)) && aligned(call.output, sizeof(T)) &&
         aligned(call.argmax, sizeof(int32_t));
}

template <typename T>
mluOpStatus_t Forward(const Arguments& a, CudaContext& context) {
  const ForwardCall<T> call = {MakeProblem(a),
                               a.In<T>("input"),
                               a.In<T>("boxes"),
                               nullptr,
                               a.Out<T>("output"),
                               a.Out<int32_t>("argmax_idx"),
                               0};
  if constexpr (sizeof(T) == 2) {
    if (VectorPays<T, 8>(call)) return Launch<T, 8>(call, context);
  }
  if (VectorPays<T, 4>(call)) return Launch<T, 4>(call, context);
  if (VectorPays<T, 2>(call)) return Launch<T, 2>(call, context);
  return Launch<T, 1>(call, context);
}

}  // namespace

mluOpStatus_t ForwardCuda(const Arguments& a, CudaContext& context) {
  return a.Type() == MLUOP_DTYPE_HALF ? Forward<__half>(a, context) : Forward<float>(a, context);
}

}  // namespace mluop::border_align
