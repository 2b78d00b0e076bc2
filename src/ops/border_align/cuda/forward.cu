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

// Computes the samples of the lane's edge; the lane of sample 0 writes the edge to `shared`.
template <typename T>
__device__ void FindSamples(const EdgesCall<T>& call, const Item& item, WarpEdges& shared) {
  const Problem& p = call.t.p;
  const int lane = threadIdx.x % kWarpLanes, index = lane / kStride, first = lane % kStride;
  const int border = static_cast<int>(item.list % kBorders);
  const int image = static_cast<int>(item.list / kBorders);
  const int k = call.order == nullptr ? static_cast<int>(item.rank)
                                      : call.order[int64_t{item.list} * p.k + item.rank];
  const int box = image * p.k + k;
  const Edge edge = MakeEdge(LoadBox(call.t.boxes, box), border, p.pool_size);
  const Axes axes = MakeAxes(p, border);
  const Neighbours at = FindNeighbours(edge.fixed, axes.fixed_size);
  if (first == 0) {
    shared.lines[index] =
        MakeLines(at, axes.fixed_stride, image * p.h * p.w * kBorders * p.c + border * p.c,
                  (box * kBorders + border) * p.c);
    shared.channel[index] = static_cast<int>(item.group) * kVector<T> * kWarpLanes;
  }
  // All lanes of an edge write the same value.
  shared.inside[index] =
      AllOfEdge(FillSamples<kStride>(edge, axes, at.inside, first, static_cast<int>(p.samples()),
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
    FindSamples(call, MakeItem(call, min(i + index, call.items() - 1)), shared);
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

// The maximum of one channel of an edge. `result` counts [N, K, 4, C].
template <typename T>
__device__ void PoolResult(const ForwardTensors<T>& t, int result) {
  const Problem& p = t.p;
  const int pixel = kBorders * p.c, box = result / pixel, border = result % pixel / p.c;
  const Edge edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
  const Axes axes = MakeAxes(p, border);
  const Neighbours line = FindNeighbours(edge.fixed, axes.fixed_size);
  const T* input = t.input + box / p.k * (p.h * p.w * pixel) + result % pixel;
  const T *low = input + line.low * axes.fixed_stride,
          *high = input + line.high * axes.fixed_stride;
  float position = edge.start, best = 0;
  int32_t index = 0;
  for (int i = 0; i < p.samples(); ++i, position += edge.step) {
    const Neighbours at = FindNeighbours(position, axes.moving_size);
    const Sample s = MakeSample(at, axes.moving_stride);
    float value = 0;
    if (line.inside && at.inside) {
      value = s.even_weight() * line.low_weight * AsFloat(low[s.even()]);
      value = fmaf(s.even_weight() * line.high_weight, AsFloat(high[s.even()]), value);
      value = fmaf(s.odd_weight() * line.low_weight, AsFloat(low[s.odd()]), value);
      value = fmaf(s.odd_weight() * line.high_weight, AsFloat(high[s.odd()]), value);
    }
    if (i == 0 || value > best) {
      best = value;
      index = i;
    }
  }
  AssignMaximum(best, t.output[result]);
  t.argmax[result] = index;
}

template <typename T>
__global__ void PoolResults(const __grid_constant__ ForwardTensors<T> t, int64_t results) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < results; i += stride) {
    PoolResult(t, static_cast<int>(i));
  }
}

mluOpStatus_t RunSorted(const CudaCall<Problem>& call, void* scratch) {
  const int32_t* order = SortEdges(call, scratch).order;
  return WithType(call, [&](auto element) { LaunchEdges<decltype(element)>(call, order); });
}
mluOpStatus_t RunEdges(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { LaunchEdges<decltype(element)>(call, nullptr); });
}
mluOpStatus_t RunElements(const CudaCall<Problem>& call, void*) {
  constexpr int kElementThreads = 256;
  const int64_t results = EdgeCount(call.p) * call.p.c;
  return WithType(call, [&](auto element) {
    using T = decltype(element);
    call.context.Launch(PoolResults<T>, {CeilDiv(results, kElementThreads), kElementThreads},
                        ForwardTensors<T>(call), results);
  });
}

// The images that one launch computes: they have fewer than 2^31 elements.
Problem BatchOf(Problem p) {
  const int64_t most = (kSmallLimit - 1) / std::max(MapElements(p), ResultElements(p));
  p.n = static_cast<int>(std::min<int64_t>(p.n, most));
  return p;
}

using Applies = bool (*)(const CudaCall<Problem>& call);
using Run = mluOpStatus_t (*)(const CudaCall<Problem>& call, void* scratch);

// The call's first batch decides: all batches must run the same implementation.
template <Applies kApplies>
bool AppliesToBatch(const CudaCall<Problem>& call) {
  if (!HasSmallImages(call)) return false;
  const Problem p = BatchOf(call.p);
  return kApplies({p, call.arguments, call.context});
}

size_t BatchListsBytes(const CudaCall<Problem>& call) {
  const Problem p = BatchOf(call.p);
  return ListsBytes({p, call.arguments, call.context});
}

template <Run kRun>
mluOpStatus_t RunBatches(const CudaCall<Problem>& call, void* scratch) {
  Problem p = BatchOf(call.p);
  const int64_t images = p.n;
  const size_t element = IsHalf(call) ? 2 : 4;
  const size_t map = static_cast<size_t>(images * MapElements(p)) * element;
  const size_t results = static_cast<size_t>(images * ResultElements(p));
  const size_t boxes = static_cast<size_t>(images * p.k) * 4 * element;
  // input, boxes, output, argmax_idx
  const size_t bytes[] = {map, boxes, results * element, results * sizeof(int32_t)};
  Arguments arguments = call.arguments;
  for (int64_t first = 0; first < call.p.n; first += images) {
    p.n = static_cast<int>(std::min(images, call.p.n - first));
    if (const mluOpStatus_t status = kRun({p, arguments, call.context}, scratch)) return status;
    for (int i = 0; i < 4; ++i) {
      arguments.tensors[i].data = static_cast<char*>(arguments.tensors[i].data) + bytes[i];
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"small_map", "all pixels with 128 bytes of channels fit in shared memory and are mostly read",
     AppliesToBatch<FitsShared>, nullptr, RunBatches<RunSmallMap>, DescribeSmallMap},
    {"sorted", "at least 4 Mi results, 4 edges per line, and a map larger than L1",
     AppliesToBatch<ShouldSort>, BatchListsBytes, RunBatches<RunSorted>},
    {"edges", "at most 12 samples, and channels in aligned vectors of 16 bytes",
     AppliesToBatch<CanPoolEdges>, nullptr, RunBatches<RunEdges>},
    {"elements", "an image has fewer than 2^31 elements", HasSmallImages, nullptr,
     RunBatches<RunElements>},
    {"large", "always", Always, nullptr, RunLarge},
    CudaImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
