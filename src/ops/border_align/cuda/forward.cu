// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices. A warp takes an edge, its lanes channels; bound by reads of the
// first cache (float) and by the instructions of the loop over samples (half). For that a block fills
// a processor and its warps take neighbouring edges of the order of lines.
#include <algorithm>

#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"

namespace mluop::border_align {
namespace {

// Edges that a warp takes at a time: working out the samples of several keeps more lanes busy (0.93 of
// the instructions of two at a time).
constexpr int kMostEdges = 4;

// Samples of an edge in the table of its warp. One edge alone may have more of them, one window after
// the other. More for several would take from the first cache.
constexpr int Window(int edges) { return edges == 1 ? kWarpLanes : 12; }

// Edges of a warp from which on it takes several at a time.
constexpr int kManyEdges = 4;

// One block fills a processor's registers, or two that have one edge a warp.
constexpr int Blocks(int edges) { return edges == 1 ? 2 : 1; }
constexpr int Threads(int vector, int edges) {
  if (edges == 1) return vector == 8 ? 320 : 448;
  return vector == 8 ? 640 : 1024;
}

// What the first cache holds for sure. Where a slice of channels of the map is no larger, and where
// lines have few edges, the order of edges does not matter. Few results are not worth a sort.
constexpr int64_t kCacheBytes = 128 << 10;
constexpr int kEdgesPerLine = 4;
constexpr int64_t kSortedResults = 1 << 22;

// Items that a block takes from its neighbourhood before it goes to another: about the edges of a line.
// More would leave some blocks with dearer borders than others.
constexpr int kMostChunk = 128;

template <typename T>
struct ForwardCall {
  Problem p;
  const T* input;        // [N, H, W, 4*C]
  const T* boxes;        // [N, K, 4]
  const int32_t* order;  // [N, 4, K] or NULL
  T* output;             // [N, K, 4, C]
  int32_t* argmax;       // [N, K, 4, C]
  int groups;            // of channels that a warp takes at once
  uint32_t chunk;        // items; blocks take turns at chunks

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
  const uint32_t k = static_cast<uint32_t>(call.p.k);
  const uint32_t group = call.groups == 1 ? 0 : i / call.all_edges();
  const uint32_t edge = i - group * call.all_edges();
  return {group, edge / k, edge % k};
}

// What a warp needs of its edges: each lane walks one of them.
struct WarpEdges {
  Sample table[kMostEdges * Window(kMostEdges)];
  static_assert(kMostEdges * Window(kMostEdges) >= Window(1));
  EdgeLines lines[kMostEdges];
};

// A lane's part in working out the samples of its edge.
template <int kStride>
struct Filler {
  Walk<kStride> walk;
  int moving_size, moving_stride;
  bool inside;  // the edge; else none of its samples is

  // Returns whether all samples of the lane's edge are inside; for all lanes of a warp.
  __device__ bool Fill(int count, bool last, Sample* table) {
    bool all_inside = true;
    const auto fill = [&](int i, float position) {
      Neighbours at = FindNeighbours(position, moving_size);
      at.inside = at.inside && inside;
      all_inside = all_inside && at.inside;
      table[i] = MakeSample(at, moving_stride);
    };
    last ? walk.Last(count, fill) : walk.Next(count, fill);
    // The lanes that share the edge.
    const unsigned lanes = kWholeWarp >> (kWarpLanes - kStride)
                                             << threadIdx.x % kWarpLanes / kStride * kStride;
    const unsigned inside_lanes = __ballot_sync(kWholeWarp, all_inside);
    return (inside_lanes & lanes) == lanes;
  }
};

// `first`: the lane's first sample.
template <typename T, int kVector, int kStride>
__device__ Filler<kStride> StartEdge(const ForwardCall<T>& call, const Item& item, int first,
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
              static_cast<int>(item.group) * kVector * kWarpLanes,
              false};
  }
  return {Walk<kStride>(edge, first), axes.moving_size, axes.moving_stride, at.inside};
}

// One edge of a warp's table, and all its samples: the first of them are in the table.
template <typename T, int kVector, int kEdges>
__device__ void PoolEdge(const ForwardCall<T>& call, int edge, Filler<kWarpLanes / kEdges>& filler,
                         WarpEdges& shared) {
  constexpr int kWindow = Window(kEdges);
  const EdgeLines lines = shared.lines[edge];
  const int own = lines.channel + static_cast<int>(threadIdx.x) % kWarpLanes * kVector;
  // Lanes without channels read the first ones.
  const int channel = own < call.p.c ? own : 0;
  using Lines = GlobalLines<T, kVector>;
  Pool<T, kVector, Lines> pool(
      Lines(call.input + lines.low + channel, call.input + lines.high + channel), lines.low_weight,
      lines.high_weight);
  const Sample* table = shared.table + edge * kWindow;
  const auto samples = static_cast<uint32_t>(call.p.samples());
  uint32_t begin = 0;
  bool inside = lines.inside;
  while (true) {
    const auto count = static_cast<int>(min(uint32_t{kWindow}, samples - begin));
    if (inside) {
      pool.template AddSamples<true>(table, count, static_cast<int>(begin));
    } else {
      pool.template AddSamples<false>(table, count, static_cast<int>(begin));
    }
    begin += kWindow;
    if (kEdges > 1 || begin >= samples) break;
    __syncwarp();
    const auto rest = static_cast<int>(min(uint32_t{kWindow}, samples - begin));
    inside = filler.Fill(rest, false, shared.table);
    __syncwarp();
  }
  if (own < call.p.c) {
    pool.Store(call.output + lines.result + own, call.argmax + lines.result + own);
  }
}

// The next of a block's items for a warp, which takes kEdges of them: in their order, so that all warps
// work in one neighbourhood, however long each takes. `taken`: how many are, in shared memory.
template <int kEdges>
__device__ uint32_t TakeItems(uint32_t chunk, uint32_t* taken) {
  uint32_t at = 0;
  if (threadIdx.x % kWarpLanes == 0) at = atomicAdd(taken, kEdges);
  at = __shfl_sync(kWholeWarp, at, 0);
  // From the block's own chunk to its chunk of all blocks'.
  return at + (at / chunk * (gridDim.x - 1) + blockIdx.x) * chunk;
}

template <typename T, int kVector, int kEdges>
__global__ void __launch_bounds__(Threads(kVector, kEdges), Blocks(kEdges))
    PoolEdges(const __grid_constant__ ForwardCall<T> call) {
  constexpr int kWarps = Threads(kVector, kEdges) / kWarpLanes;
  constexpr int kWindow = Window(kEdges), kStride = kWarpLanes / kEdges;
  __shared__ WarpEdges all[kWarps];
  __shared__ uint32_t taken;
  const int warp = threadIdx.x / kWarpLanes, lane = threadIdx.x % kWarpLanes;
  const int edge = lane / kStride, first = lane % kStride;
  const auto window = static_cast<int>(min(int64_t{kWindow}, call.p.samples()));
  WarpEdges& shared = all[warp];
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  // Items are less than 2^31, and one chunk more of each block does not make it 2^32.
  for (uint32_t i; (i = TakeItems<kEdges>(call.chunk, &taken)) < call.items();) {
    // Edges beyond the end are worked out, not pooled.
    const Item item = MakeItem(call, min(i + edge, call.items() - 1));
    Filler<kStride> filler = StartEdge<T, kVector, kStride>(call, item, first, shared.lines + edge);
    const bool inside =
        filler.Fill(window, call.p.samples() <= kStride, shared.table + edge * kWindow);
    if (first == 0) shared.lines[edge].inside = inside;
    __syncwarp();
    const int edges = static_cast<int>(min(call.items() - i, uint32_t{kEdges}));
    for (int e = 0; e < edges; ++e) {
      PoolEdge<T, kVector, kEdges>(call, e, filler, shared);
    }
    __syncwarp();
  }
}

template <typename T, int kVector, int kEdges>
void LaunchEdges(ForwardCall<T> call, CudaContext& context) {
  const int64_t items = call.items(), most = int64_t{context.sm_count()} * Blocks(kEdges);
  const int64_t blocks = std::min(most, CeilDiv(items, kEdges));
  const int64_t chunks = CeilDiv(items, blocks * kMostChunk);  // of a block
  call.chunk = static_cast<uint32_t>(CeilDiv(items, blocks * chunks * kEdges)) * kEdges;
  context.Launch(PoolEdges<T, kVector, kEdges>, {blocks, Threads(kVector, kEdges)}, call);
}

template <typename T, int kVector>
mluOpStatus_t Launch(ForwardCall<T> call, CudaContext& context) {
  const Problem& p = call.p;
  constexpr int kGroup = kVector * kWarpLanes;
  call.groups = static_cast<int>(CeilDiv(p.c, kGroup));
  const int64_t slice = p.pixels() * kGroup * static_cast<int64_t>(sizeof(T));
  const int64_t results = int64_t{call.all_edges()} * p.c;
  if (slice > kCacheBytes && p.k >= int64_t{kEdgesPerLine} * std::min(p.h, p.w) &&
      results >= kSortedResults) {
    call.order = SortEdges(p, call.boxes, context).order;
  }
  const int64_t warps = int64_t{context.sm_count()} * Threads(kVector, 1) / kWarpLanes;
  if (p.samples() <= Window(kMostEdges) && call.items() > kManyEdges * warps) {
    LaunchEdges<T, kVector, kMostEdges>(call, context);
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
                               0,
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
  if (StagedForwardCuda(a, context)) return context.status();
  return a.Type() == MLUOP_DTYPE_HALF ? Forward<__half>(a, context) : Forward<float>(a, context);
}

}  // namespace mluop::border_align
