// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices. A warp pools one edge; each lane handles channels. The
// kernel is limited by L1 reads (float) or by the instructions of the loop over samples (half).
// Therefore a block fills an SM, and its warps take neighbouring edges in the order of lines.
#include <algorithm>

#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"
#include "ops/border_align/cuda/tuning.h"

namespace mluop::border_align {
namespace {

constexpr int kStride = kWarpLanes / kGroupedEdges;  // lanes that compute the samples of an edge

// One block fills the registers of an SM.
template <typename T>
constexpr int kThreads = sizeof(T) == 2 ? 640 : 1024;

template <typename T>
struct EdgesCall {
  ForwardTensors<T> t;
  const int32_t* order;  // [N, 4, K] or NULL
  int groups;            // of channels that a warp pools at once
  uint32_t edges;        // that a warp takes at a time, at most kGroupedEdges
  uint32_t chunk;        // items per chunk; chunks are dealt round-robin to the blocks

  MLUOP_HOST_DEVICE uint32_t all_edges() const {
    return static_cast<uint32_t>(t.p.n) * kBorders * static_cast<uint32_t>(t.p.k);
  }
  // An item is an edge and a group of channels. There are fewer items than output elements.
  MLUOP_HOST_DEVICE uint32_t items() const { return all_edges() * groups; }
};

// A warp's edges: groups of kStride lanes compute the samples of one each.
struct WarpEdges {
  Sample table[kGroupedEdges * kTableSamples];
  EdgeLines lines[kGroupedEdges];
  int channel[kGroupedEdges];  // the first of the item's group
  bool inside[kGroupedEdges];  // all samples are inside
};

// Returns true if `holds` is true in all lanes of the edge. All lanes of the warp call it.
__device__ bool AllOfEdge(bool holds) {
  const unsigned lanes = kWholeWarp >> (kWarpLanes - kStride)
                                           << threadIdx.x % kWarpLanes / kStride * kStride;
  return (__ballot_sync(kWholeWarp, holds) & lanes) == lanes;
}

// Computes the samples of the lane's edge. Item i: of [groups, N*4, K].
template <typename T>
__device__ void FindSamples(const EdgesCall<T>& call, uint32_t i, WarpEdges& shared) {
  const Problem& p = call.t.p;
  const int lane = threadIdx.x % kWarpLanes, index = lane / kStride, first = lane % kStride;
  const uint32_t group = call.groups == 1 ? 0 : i / call.all_edges();
  const uint32_t item = i - group * call.all_edges(), list = item / static_cast<uint32_t>(p.k);
  const auto rank = static_cast<int>(item % static_cast<uint32_t>(p.k));
  const int border = static_cast<int>(list % kBorders), image = static_cast<int>(list / kBorders);
  const int k = call.order == nullptr ? rank : call.order[int64_t{list} * p.k + rank];
  const int origin = image * p.h * p.w * kBorders * p.c + border * p.c;
  const BoxEdge edge = {image * p.k + k, border, origin, MakeAxes(p, border)};
  if (first == 0) shared.channel[index] = static_cast<int>(group) * kVector<T> * kWarpLanes;
  // All lanes of an edge write the same value.
  shared.inside[index] = AllOfEdge(FindSamples<kStride>(call.t, edge, first, shared.lines + index,
                                                        shared.table + index * kTableSamples));
}

template <typename T>
__device__ void PoolEdge(const EdgesCall<T>& call, int edge, const WarpEdges& shared) {
  const EdgeLines lines = shared.lines[edge];
  const int own = shared.channel[edge] + static_cast<int>(threadIdx.x) % kWarpLanes * kVector<T>;
  // Lanes without channels read the first ones.
  const T* input = call.t.input + (own < call.t.p.c ? own : 0);
  Pool<T, GlobalLines<T>> pool({input + lines.low, input + lines.high}, lines);
  pool.AddSamples(shared.inside[edge], shared.table + edge * kTableSamples,
                  static_cast<int>(call.t.p.samples()));
  if (own < call.t.p.c) {
    pool.Store(call.t.output + lines.result + own, call.t.argmax + lines.result + own);
  }
}

// Returns the index of the next items of this block. Warps take items in order, so that they read
// nearby pixels. `taken`: a counter in shared memory.
template <typename T>
__device__ uint32_t TakeItems(const EdgesCall<T>& call, uint32_t* taken) {
  uint32_t at = 0;
  if (threadIdx.x % kWarpLanes == 0) at = atomicAdd(taken, call.edges);
  at = __shfl_sync(kWholeWarp, at, 0);
  // Maps the block-local index to the global index.
  return at + (at / call.chunk * (gridDim.x - 1) + blockIdx.x) * call.chunk;
}

template <typename T>
__global__ void __launch_bounds__(kThreads<T>, 1)
    PoolEdges(const __grid_constant__ EdgesCall<T> call) {
  __shared__ WarpEdges all[kThreads<T> / kWarpLanes];
  __shared__ uint32_t taken;
  const int index = threadIdx.x % kWarpLanes / kStride;  // of the lane's edge
  WarpEdges& shared = all[threadIdx.x / kWarpLanes];
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  // No overflow: items < 2^31, plus at most one chunk per block, stays below 2^32.
  for (uint32_t i; (i = TakeItems(call, &taken)) < call.items();) {
    // Samples of edges beyond the last are computed and not pooled.
    FindSamples(call, min(i + index, call.items() - 1), shared);
    __syncwarp();
    const int edges = static_cast<int>(min(call.items() - i, call.edges));
    for (int e = 0; e < edges; ++e) PoolEdge(call, e, shared);
    __syncwarp();
  }
}

int64_t EdgeCount(const Problem& p) { return int64_t{p.n} * kBorders * p.k; }

template <typename T>
void LaunchEdges(const CudaCall<Problem>& c, const int32_t* order) {
  const int64_t sm_count = c.context.sm_count();
  const auto groups = static_cast<int>(CeilDiv(c.p.c, kVector<T> * kWarpLanes));
  const int64_t items = EdgeCount(c.p) * groups;
  const int64_t edges = items > kEdgesPerSm * sm_count ? kGroupedEdges : 1;
  const int64_t blocks = std::min(sm_count, CeilDiv(items, edges));
  const int64_t chunks = CeilDiv(items, blocks * kMaxChunk);  // of a block
  const int64_t chunk = CeilDiv(items, blocks * chunks * edges) * edges;
  c.context.Launch(PoolEdges<T>, {blocks, kThreads<T>},
                   EdgesCall<T>{ForwardTensors<T>(c), order, groups, static_cast<uint32_t>(edges),
                                static_cast<uint32_t>(chunk)});
}

bool CanPoolEdges(const CudaCall<Problem>& call) {
  return CanVectorize(call) && call.p.samples() <= kTableSamples;
}

bool ShouldSort(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  return CanPoolEdges(call) && p.pixels() * kWarpBytes > kL1Bytes &&
         p.k >= int64_t{kEdgesPerLine} * std::min(p.h, p.w) && EdgeCount(p) * p.c >= kSortedResults;
}

mluOpStatus_t RunSorted(const CudaCall<Problem>& call, void* scratch) {
  const int32_t* order = SortEdges(call, scratch).order;
  return WithType(call, [&](auto element) { LaunchEdges<decltype(element)>(call, order); });
}
mluOpStatus_t RunEdges(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { LaunchEdges<decltype(element)>(call, nullptr); });
}

// A thread per result. It serves any number of channels and samples ("elements"), tensors with 2^31
// elements and more ("large"), and tensors of type double.

// The maximum of one channel of an edge. `result` counts [N, K, 4, C]; Offset: of all tensors.
template <typename T, typename Offset>
__device__ void PoolResult(const ForwardTensors<T>& t, Offset result) {
  using Real = RealOf<T>;
  const Problem& p = t.p;
  const auto pixel = static_cast<Offset>(p.channels()), row = p.w * pixel, box = result / pixel;
  const auto border = static_cast<int>(result % pixel / p.c);
  const bool horizontal = border == kTop || border == kBottom;
  const Offset fixed_stride = horizontal ? row : pixel, moving_stride = horizontal ? pixel : row;
  const EdgeOf<Real> edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
  const NeighboursOf<Real> line = FindNeighbours(edge.fixed, horizontal ? p.h : p.w);
  const T* input = t.input + box / p.k * (p.h * row) + result % pixel;
  const T *low = input + line.low * fixed_stride, *high = input + line.high * fixed_stride;
  Real position = edge.start, best = 0;
  int32_t index = 0;
  for (int i = 0; i < p.samples(); ++i, position += edge.step) {
    const NeighboursOf<Real> at = FindNeighbours(position, horizontal ? p.w : p.h);
    const bool odd_first = at.low % 2 != 0;
    const Offset even = (odd_first ? at.high : at.low) * moving_stride;
    const Offset odd = (odd_first ? at.low : at.high) * moving_stride;
    const Real even_weight = odd_first ? at.high_weight : at.low_weight;
    const Real odd_weight = odd_first ? at.low_weight : at.high_weight;
    Real value = 0;
    if (line.inside && at.inside) {
      value = even_weight * line.low_weight * AsReal(low[even]);
      value = fma(even_weight * line.high_weight, AsReal(high[even]), value);
      value = fma(odd_weight * line.low_weight, AsReal(low[odd]), value);
      value = fma(odd_weight * line.high_weight, AsReal(high[odd]), value);
    }
    if (i == 0 || value > best) {
      best = value;
      index = i;
    }
  }
  t.output[result] = static_cast<T>(PositiveZero(best));
  t.argmax[result] = index;
}

// With ForEach it takes up to 1.3x the time on small maps: the sizes are then loaded when they are used.
template <typename T, typename Offset>
__global__ void PoolResults(const __grid_constant__ ForwardTensors<T> t, int64_t results) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < results; i += stride) {
    PoolResult(t, static_cast<Offset>(i));
  }
}

template <typename T, typename Offset>
mluOpStatus_t LaunchResults(const CudaCall<Problem>& call, void* = nullptr) {
  constexpr int kBlockThreads = 256;
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  const int64_t results = int64_t{call.p.n} * ResultElements(call.p);
  call.context.Launch(PoolResults<T, Offset>,
                      {std::min(CeilDiv(results, kBlockThreads), kMostBlocks), kBlockThreads},
                      ForwardTensors<T>(call), results);
  return call.context.status();
}

template <typename Offset>
mluOpStatus_t RunElements(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { LaunchResults<decltype(element), Offset>(call); });
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"small_map", "all pixels with 128 bytes of channels fit in shared memory and are mostly read",
     FitsShared, nullptr, RunSmallMap, DescribeSmallMap},
    {"sorted", "at least 4 Mi results, 4 edges per line, and a map larger than L1", ShouldSort,
     ListsBytes, RunSorted},
    {"edges", "at most 12 samples, and channels in aligned vectors of 16 bytes", CanPoolEdges,
     nullptr, RunEdges},
    {"elements", "tensors have fewer than 2^31 elements", IsSmall, nullptr, RunElements<int>},
    CudaImplementation<Problem>::Beyond32Bits(
        {"large", "always", Always, nullptr, RunElements<int64_t>}),
    CudaImplementation<Problem>::ForDouble(LaunchResults<double, int64_t>),
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
