// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on CUDA devices. The first kernel lists the points of each box in ascending
// order and zeroes pts_idx_of_voxels; in the second, ranges of voxels take their points from the
// lists. Limited by output bandwidth, mostly the zeros of pts_idx_of_voxels.
#include <cinttypes>
#include <limits>

#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"
#include "ops/roiaware_pool3d/cuda/lists.h"

namespace mluop::roiaware_pool3d {
namespace {

using ForwardCall = CudaCall<Problem>;

template <typename T>
struct Pooling {
  Problem p;
  Lists lists = {};
  BoxBatch batch = {};
  int ranges = 0, size = 0;  // ranges of a box, voxels of a range
  const T* features;         // [points, channels]
  int32_t* argmax;           // [voxels, channels], or NULL
  int32_t* indices;          // [voxels, slots]
  T* pooled;                 // [voxels, channels]
};

// The voxels [begin, begin + size) of a box, and their shared memory.
struct Range {
  int box;  // in the batch
  uint32_t begin, size;
  int64_t first;    // `begin` counted over all boxes
  int32_t* counts;  // [warps, size]: points of the warps' chunks
  int32_t* totals;  // [size]: points that are stored
  int32_t* filled;  // [size]: voxels with points, in any order

  // The entry's voxel in the range. Not below `size` if it is outside the range.
  __device__ uint32_t Voxel(int2 entry) const { return static_cast<uint32_t>(entry.x) - begin; }
};

// Counts the points of each voxel. The chunks of the warps are in order, so the points of a warp
// start after the points of earlier warps. Returns the number of voxels with points, and writes
// their counts into their rows, [size, slots].
__device__ int CountPoints(const Problem& p, const Lists& lists, const Range& range,
                           int32_t* rows) {
  __shared__ int filled;
  if (threadIdx.x == 0) filled = 0;
  for (uint32_t i = threadIdx.x; i < kWarps * range.size; i += kThreads) range.counts[i] = 0;
  __syncthreads();
  int32_t* own = range.counts + threadIdx.x / kLanes * range.size;
  ForEachEntry(lists, range.box, [&](int2 entry) {
    const uint32_t voxel = range.Voxel(entry);
    if (voxel < range.size) atomicAdd(own + voxel, 1);
  });
  __syncthreads();
  for (uint32_t voxel = threadIdx.x; voxel < range.size; voxel += kThreads) {
    int32_t sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      const int32_t count = range.counts[warp * range.size + voxel];
      range.counts[warp * range.size + voxel] = sum;
      sum += count;
    }
    const int32_t total = min(sum, p.capacity());
    range.totals[voxel] = total;
    if (total == 0) continue;
    range.filled[atomicAdd(&filled, 1)] = static_cast<int32_t>(voxel);
    rows[int64_t{voxel} * p.slots] = total;
  }
  __syncthreads();
  return filled;
}

// Writes the points into their slots. rows: of the range, [size, slots]
__device__ void PlacePoints(const Problem& p, const Lists& lists, const Range& range,
                            int32_t* rows) {
  int32_t* own = range.counts + threadIdx.x / kLanes * range.size;
  const unsigned below = (1u << threadIdx.x % kLanes) - 1;
  ForEachEntry(lists, range.box, [&](int2 entry) {
    const uint32_t voxel = range.Voxel(entry);
    const bool mine = voxel < range.size;
    if (!__any_sync(kAllLanes, mine)) return;
    const unsigned peers = __match_any_sync(kAllLanes, mine ? voxel : ~0u);
    const int rank = __popc(peers & below);
    const int32_t base = mine ? own[voxel] : 0;
    __syncwarp();
    if (mine && rank == 0) own[voxel] = base + __popc(peers);
    __syncwarp();
    // base + rank is below the number of points.
    if (mine && base + rank < p.capacity()) {
      rows[int64_t{voxel} * p.slots + 1 + base + rank] = entry.y;
    }
  });
}

// Pools V channels of a voxel that has points, in ascending order of the points.
template <typename T, int V, PoolMethod kMethod>
__device__ void PoolRow(const Pooling<T>& c, const Range& range, uint32_t row, int64_t channel) {
  using Real = RealOf<T>;
  constexpr bool kIsMaximum = kMethod == kMaximum;
  const int64_t channels = c.p.channels, to = (range.first + row) * channels + channel;
  const int32_t* points = c.indices + (range.first + row) * c.p.slots + 1;
  const int count = range.totals[row];
  Real pooled[V];
  int32_t argmax[V];
#pragma unroll
  for (int i = 0; i < V; ++i) {
    pooled[i] = kIsMaximum ? -std::numeric_limits<Real>::infinity() : 0;
    argmax[i] = kIsMaximum ? -1 : 0;
  }
#pragma unroll(V == 8 ? 1 : 4)
  for (int k = 0; k < count; ++k) {
    const int32_t point = points[k];
    Real value[V];
    LoadElements(c.features + channel + point * channels, value);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if constexpr (!kIsMaximum) {
        pooled[i] += value[i];
      } else if (value[i] > pooled[i]) {
        pooled[i] = value[i], argmax[i] = point;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < V; ++i) {
    if constexpr (kIsMaximum) {
      pooled[i] = argmax[i] < 0 ? 0 : pooled[i];
    } else {
      pooled[i] /= static_cast<Real>(count);
    }
  }
  StoreElements(c.pooled + to, pooled);
  if (c.argmax != nullptr) StoreElements(c.argmax + to, argmax);
}

// Stores the rows without points. These stores are in flight while other rows wait for their loads.
template <typename T, int V, PoolMethod kMethod>
__device__ void ClearRows(const Pooling<T>& c, const Range& range) {
  const uint32_t groups = c.p.channels / V;
  const RealOf<T> zeros[V] = {};
  int32_t none[V];
#pragma unroll
  for (int i = 0; i < V; ++i) none[i] = kMethod == kMaximum ? -1 : 0;
  T* pooled = c.pooled + range.first * c.p.channels;
  int32_t* argmax = c.argmax == nullptr ? nullptr : c.argmax + range.first * c.p.channels;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < range.size * groups; i += kThreads) {
    if (range.totals[i / groups] > 0) continue;
    StoreElements(pooled + int64_t{i} * V, zeros);
    if (argmax != nullptr) StoreElements(argmax + int64_t{i} * V, none);
  }
}

// One block per range of voxels.
template <typename T, int V, PoolMethod kMethod>
__global__ void __launch_bounds__(kThreads, kRangesPerSm) PoolRange(Pooling<T> c) {
  auto* const memory = DynamicShared<int32_t>();
  WaitForPredecessor();
  const int64_t box_voxels = c.p.box_voxels();
  const int box = blockIdx.x / c.ranges;
  const int64_t begin = int64_t{blockIdx.x % c.ranges} * c.size;
  Range range = {.box = box,
                 .begin = static_cast<uint32_t>(begin),
                 .size = static_cast<uint32_t>(min(int64_t{c.size}, box_voxels - begin)),
                 .first = (c.batch.first + box) * box_voxels + begin};
  range.totals = memory;
  range.filled = memory + range.size;
  range.counts = memory + 2 * range.size;
  int32_t* rows = c.indices + range.first * c.p.slots;
  const int filled = CountPoints(c.p, c.lists, range, rows);
  const uint32_t groups = c.p.channels / V;
  ClearRows<T, V, kMethod>(c, range);
  PlacePoints(c.p, c.lists, range, rows);
  __syncthreads();
  ForEachInRows(filled, groups, [&](uint32_t at, uint32_t group) {
    PoolRow<T, V, kMethod>(c, range, range.filled[at], int64_t{group} * V);
  });
}

template <typename T, int V>
void LaunchPool(const Pooling<T>& c, CudaContext& context) {
  const Grid grid = {int64_t{c.batch.count} * c.ranges, kThreads,
                     (kWarps + 2) * static_cast<size_t>(c.size) * sizeof(int32_t), true};
  context.Launch(c.p.method == kMaximum ? PoolRange<T, V, kMaximum> : PoolRange<T, V, kAverage>,
                 grid, c);
}

// Divides a box into ranges of voxels. Each range reads all lists of the box twice. If every point is
// inside, these reads should not outweigh the outputs of the range, unless SMs would be idle.
template <typename T>
void DivideBox(int sm_count, Pooling<T>* c) {
  const int64_t voxels = c->p.box_voxels();
  const int64_t written =
      voxels * (c->p.slots * int64_t{4} + c->p.channels * static_cast<int64_t>(sizeof(T) + 4));
  const int64_t read = int64_t{c->p.points} * 2 * sizeof(int2);
  const int64_t worth = std::max<int64_t>(4 * written / read, sm_count / c->batch.count);
  const int64_t resident = int64_t{kRangesPerSm} * sm_count / c->batch.count;
  const int64_t ranges = std::max(std::min({resident, worth, CeilDiv(voxels, kMinRangeVoxels)}),
                                  CeilDiv(voxels, kMaxRangeVoxels));
  c->size = static_cast<int>(CeilDiv(voxels, ranges));
  c->ranges = static_cast<int>(CeilDiv(voxels, c->size));
}

template <typename T>
void Forward(const ForwardCall& call, void* memory) {
  const Arguments& a = call.arguments;
  Pooling<T> c = {.p = call.p,
                  .features = a.In<T>("pts_feature"),
                  .argmax = a.Out<int32_t>("argmax"),
                  .indices = a.Out<int32_t>("pts_idx_of_voxels"),
                  .pooled = a.Out<T>("pooled_features")};
  const T *rois = a.In<T>("rois"), *pts = a.In<T>("pts");
  const int64_t batch = BatchSize(c.p.boxes, c.p.points);
  char* scratch = static_cast<char*>(memory);
  c.lists = {.points = c.p.points,
             .chunks = Chunks(c.p.points),
             .entries = reinterpret_cast<int2*>(scratch),
             .counts = reinterpret_cast<int32_t*>(scratch + batch * c.p.points * sizeof(int2))};
  constexpr int kWidth = std::is_same_v<T, double> ? 1 : kWide<T>;
  const bool wide = c.p.channels % kWidth == 0 && IsAligned(c.features) && IsAligned(c.pooled) &&
                    IsAligned(c.argmax);
  for (int64_t first = 0; first < c.p.boxes; first += batch) {
    c.batch = {static_cast<int>(first), static_cast<int>(std::min(batch, c.p.boxes - first))};
    DivideBox(call.context.sm_count(), &c);
    const int64_t warps = int64_t{c.lists.chunks} * c.batch.count;
    const int64_t batch_slots = c.batch.count * c.p.box_voxels() * c.p.slots;
    const ZeroFill fill = {.finders = static_cast<int>(CeilDiv(warps, kWarps)),
                           .slots = c.indices + first * c.p.box_voxels() * c.p.slots,
                           .count = batch_slots};
    const int64_t blocks = fill.finders + std::max<int64_t>(fill.finders, fill.blocks());
    call.context.Launch(FindInside<T>, {blocks, kThreads}, c.p, c.lists, c.batch, fill, rois, pts);
    if (wide) {
      LaunchPool<T, kWidth>(c, call.context);
    } else {
      LaunchPool<T, 1>(c, call.context);
    }
  }
}

size_t ScratchBytes(const ForwardCall& call) {
  return ForwardCudaScratchBytes(call.p.boxes, call.p.points);
}

mluOpStatus_t RunForward(const ForwardCall& call, void* scratch) {
  call.p.half ? Forward<__half>(call, scratch) : Forward<float>(call, scratch);
  return call.context.status();
}
mluOpStatus_t RunDoubleForward(const ForwardCall& call, void* scratch) {
  Forward<double>(call, scratch);
  return call.context.status();
}

void DescribeForward(const ForwardCall& call, Plan& plan) {
  plan.Add("batches of %" PRId64 " boxes", BatchSize(call.p.boxes, call.p.points));
}

constexpr CudaImplementation<Problem> kForward[] = {
    {"lists", "always", Always, ScratchBytes, RunForward, DescribeForward},
    CudaImplementation<Problem>::ForDouble(RunDoubleForward, ScratchBytes),
};

}  // namespace

size_t ForwardCudaScratchBytes(int64_t boxes, int64_t points) {
  const int64_t batch = BatchSize(boxes, points);
  return static_cast<size_t>(batch) *
         (points * sizeof(int2) + static_cast<size_t>(Chunks(points)) * sizeof(int32_t));
}

constexpr CudaOperator kForwardCuda = Bind<MakeForwardProblem, kForward>("roiaware_pool3d_forward");

}  // namespace mluop::roiaware_pool3d
