// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices. A warp pools an edge, its lanes channels; bound by reads of
// L1 (float) and by the instructions of the loop over samples (half). Therefore a block fills an
// SM, and its warps take neighbouring edges in the order of lines.
#include <algorithm>

#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"
#include "ops/border_align/cuda/tuning.h"

namespace mluop::border_align {
namespace {

// kWide: 16 bytes of channels per lane, else one channel. kEdges: edges that a warp takes at a
// time.
template <typename T, bool kWide, int kEdgesAtOnce>
struct EdgesPolicy {
  using Element = T;
  static constexpr int kVector = kWide ? 16 / sizeof(T) : 1;
  static constexpr int kEdges = kEdgesAtOnce;
  static constexpr int kStride = kWarpLanes / kEdges;  // lanes that compute the samples of an edge
  static constexpr int kWindow = kEdges == 1 ? kWarpLanes : kGroupedWindow;
  // One block fills the registers of an SM, or two with one edge per warp.
  static constexpr int kBlocks = kEdges == 1 ? 2 : 1;
  static constexpr int kThreads =
      kEdges == 1 ? (kVector == 8 ? 320 : 448) : (kVector == 8 ? 640 : 1024);
};

template <typename T>
struct EdgesCall {
  ForwardTensors<T> t;
  const int32_t* order;  // [N, 4, K] or NULL
  int groups;            // of channels that a warp pools at once
  uint32_t chunk;        // items; blocks take turns at chunks

  MLUOP_HOST_DEVICE uint32_t all_edges() const {
    return static_cast<uint32_t>(t.p.n) * kBorders * static_cast<uint32_t>(t.p.k);
  }
  // An item is an edge and a group of channels: fewer than elements of the output.
  MLUOP_HOST_DEVICE uint32_t items() const { return all_edges() * groups; }
};

// An item: [groups, N*4, K].
struct Item {
  uint32_t group, list, rank;
};

template <typename T>
__device__ Item MakeItem(const EdgesCall<T>& call, uint32_t i) {
  const uint32_t k = static_cast<uint32_t>(call.t.p.k);
  const uint32_t group = call.groups == 1 ? 0 : i / call.all_edges();
  const uint32_t edge = i - group * call.all_edges();
  return {group, edge / k, edge % k};
}

// A warp's edges: groups of kStride lanes compute the samples of one each.
template <class Policy>
struct WarpEdges {
  Sample table[Policy::kEdges * Policy::kWindow];
  EdgeLines lines[Policy::kEdges];
  int channel[Policy::kEdges];  // the first of the item's group
  bool inside[Policy::kEdges];  // all samples in the table
};

// Whether it holds for all lanes that share an edge. All lanes of the warp call it.
template <class Policy>
__device__ bool AllOfEdge(bool holds) {
  constexpr int kStride = Policy::kStride;
  const unsigned lanes = kWholeWarp >> (kWarpLanes - kStride)
                                           << threadIdx.x % kWarpLanes / kStride * kStride;
  return (__ballot_sync(kWholeWarp, holds) & lanes) == lanes;
}

// Starts the lane's walk of its edge; the lane of sample 0 writes the edge to `shared`.
template <class Policy>
__device__ EdgeWalk<Policy::kStride> StartEdge(const EdgesCall<typename Policy::Element>& call,
                                               const Item& item, WarpEdges<Policy>& shared) {
  const Problem& p = call.t.p;
  const int lane = threadIdx.x % kWarpLanes, index = lane / Policy::kStride;
  const int first = lane % Policy::kStride;
  const int border = static_cast<int>(item.list % kBorders);
  const int image = static_cast<int>(item.list / kBorders);
  const int k = call.order == nullptr ? static_cast<int>(item.rank)
                                      : call.order[int64_t{item.list} * p.k + item.rank];
  const int box = image * p.k + k;
  const EdgeWalk<Policy::kStride> walk(MakeEdge(LoadBox(call.t.boxes, box), border, p.pool_size),
                                       MakeAxes(p, border), first);
  if (first == 0) {
    shared.lines[index] = walk.Lines(image * p.h * p.w * kBorders * p.c + border * p.c,
                                     (box * kBorders + border) * p.c);
    shared.channel[index] = static_cast<int>(item.group) * Policy::kVector * kWarpLanes;
  }
  return walk;
}

// Pools one edge of a warp's table: the table holds its first samples.
template <class Policy>
__device__ void PoolEdge(const EdgesCall<typename Policy::Element>& call, int edge,
                         EdgeWalk<Policy::kStride>& walk, WarpEdges<Policy>& shared) {
  using T = typename Policy::Element;
  using Lines = GlobalLines<T, Policy::kVector>;
  constexpr int kWindow = Policy::kWindow;
  const EdgeLines lines = shared.lines[edge];
  const int own =
      shared.channel[edge] + static_cast<int>(threadIdx.x) % kWarpLanes * Policy::kVector;
  // Lanes without channels read the first ones.
  const T* input = call.t.input + (own < call.t.p.c ? own : 0);
  Pool<T, Policy::kVector, Lines> pool(Lines(input + lines.low, input + lines.high), lines);
  const auto samples = static_cast<uint32_t>(call.t.p.samples());
  uint32_t begin = 0;
  bool inside = shared.inside[edge];
  while (true) {
    const auto count = static_cast<int>(min(uint32_t{kWindow}, samples - begin));
    pool.AddSamples(inside, shared.table + edge * kWindow, count, static_cast<int>(begin));
    begin += kWindow;
    if (Policy::kEdges > 1 || begin >= samples) break;
    __syncwarp();
    const auto rest = static_cast<int>(min(uint32_t{kWindow}, samples - begin));
    inside = AllOfEdge<Policy>(walk.Fill(rest, shared.table));
    __syncwarp();
  }
  if (own < call.t.p.c) {
    pool.Store(call.t.output + lines.result + own, call.t.argmax + lines.result + own);
  }
}

// The next of a block's items for a warp, which takes kEdges of them: in their order, so that all
// warps work in one neighbourhood, however long each takes. `taken`: a counter in shared memory.
template <int kEdges>
__device__ uint32_t TakeItems(uint32_t chunk, uint32_t* taken) {
  uint32_t at = 0;
  if (threadIdx.x % kWarpLanes == 0) at = atomicAdd(taken, kEdges);
  at = __shfl_sync(kWholeWarp, at, 0);
  // From the block's chunk to its chunk of all blocks'.
  return at + (at / chunk * (gridDim.x - 1) + blockIdx.x) * chunk;
}

template <class Policy>
__global__ void __launch_bounds__(Policy::kThreads, Policy::kBlocks)
    PoolEdges(const __grid_constant__ EdgesCall<typename Policy::Element> call) {
  __shared__ WarpEdges<Policy> all[Policy::kThreads / kWarpLanes];
  __shared__ uint32_t taken;
  const int index = threadIdx.x % kWarpLanes / Policy::kStride;  // of the lane's edge
  const auto window = static_cast<int>(min(int64_t{Policy::kWindow}, call.t.p.samples()));
  WarpEdges<Policy>& shared = all[threadIdx.x / kWarpLanes];
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  // Items are less than 2^31, and one chunk more of each block does not make it 2^32.
  for (uint32_t i; (i = TakeItems<Policy::kEdges>(call.chunk, &taken)) < call.items();) {
    // Samples of edges beyond the end are computed and not pooled.
    const Item item = MakeItem(call, min(i + index, call.items() - 1));
    auto walk = StartEdge<Policy>(call, item, shared);
    // All lanes of an edge write the same value.
    shared.inside[index] =
        AllOfEdge<Policy>(walk.Fill(window, shared.table + index * Policy::kWindow));
    __syncwarp();
    const int edges = static_cast<int>(min(call.items() - i, uint32_t{Policy::kEdges}));
    for (int e = 0; e < edges; ++e) PoolEdge<Policy>(call, e, walk, shared);
    __syncwarp();
  }
}

template <class Policy>
void LaunchEdges(const CudaCall<Problem>& c, const int32_t* order) {
  using T = typename Policy::Element;
  const int groups = static_cast<int>(CeilDiv(c.p.c, Policy::kVector * kWarpLanes));
  EdgesCall<T> call = {ForwardTensors<T>(c), order, groups, 0};
  const int64_t items = call.items(), most = int64_t{c.context.sm_count()} * Policy::kBlocks;
  const int64_t blocks = std::min(most, CeilDiv(items, Policy::kEdges));
  const int64_t chunks = CeilDiv(items, blocks * kMaxChunk);  // of a block
  call.chunk =
      static_cast<uint32_t>(CeilDiv(items, blocks * chunks * Policy::kEdges)) * Policy::kEdges;
  c.context.Launch(PoolEdges<Policy>, {blocks, Policy::kThreads}, call);
}

template <int kEdges>
mluOpStatus_t LaunchTyped(const CudaCall<Problem>& call, const int32_t* order) {
  return WithType(call, [&](auto element) {
    using T = decltype(element);
    CanVectorize(call, kWarpLanes) ? LaunchEdges<EdgesPolicy<T, true, kEdges>>(call, order)
                                   : LaunchEdges<EdgesPolicy<T, false, kEdges>>(call, order);
  });
}

// Whether a table holds all samples of several edges.
bool FitsGroups(const Problem& p) { return p.samples() <= kGroupedWindow; }

int64_t EdgeCount(const Problem& p) { return int64_t{p.n} * kBorders * p.k; }

bool ShouldSort(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  return p.pixels() * kWarpBytes > kL1Bytes && p.k >= int64_t{kEdgesPerLine} * std::min(p.h, p.w) &&
         EdgeCount(p) * p.c >= kSortedResults;
}

bool ShouldGroup(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  const int64_t groups = CeilDiv(int64_t{p.c} * (IsHalf(call) ? 2 : 4), kWarpBytes);
  return FitsGroups(p) && EdgeCount(p) * groups > int64_t{kEdgesPerSm} * call.context.sm_count();
}

mluOpStatus_t RunSorted(const CudaCall<Problem>& call, void* scratch) {
  const int32_t* order = SortEdges(call, scratch).order;
  return FitsGroups(call.p) ? LaunchTyped<kGroupedEdges>(call, order) : LaunchTyped<1>(call, order);
}
mluOpStatus_t RunGroups(const CudaCall<Problem>& call, void*) {
  return LaunchTyped<kGroupedEdges>(call, nullptr);
}
mluOpStatus_t RunEdges(const CudaCall<Problem>& call, void*) {
  return LaunchTyped<1>(call, nullptr);
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"small_map", "128 bytes of channels of the map fit shared memory, and boxes read most of it",
     FitsShared, nullptr, RunSmallMap, DescribeSmallMap},
    {"sorted", "at least 4 Mi results, 4 edges per line, and a map larger than L1", ShouldSort,
     ListsBytes, RunSorted},
    {"groups", "at most 12 samples, and more than 56 edges per SM", ShouldGroup, nullptr,
     RunGroups},
    {"edges", "always", Always, nullptr, RunEdges},
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
