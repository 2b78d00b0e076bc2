// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on CUDA devices: lists the points inside each box, in ascending order.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

// The boxes [first, first + count) of a call, whose lists exist at the same time.
struct BoxBatch {
  int first, count;
};

// For each box of a batch and each chunk of the points: the points inside, as (voxel in the box,
// point).
struct Lists {
  int64_t points;
  int chunks;
  int2* entries;    // [boxes of a batch, points]
  int32_t* counts;  // [boxes of a batch, chunks]

  __device__ int2* Entries(int box, int chunk) const {
    return entries + box * points + int64_t{chunk} * kChunkPoints;
  }
  __device__ int32_t* Count(int box, int chunk) const {
    return counts + int64_t{box} * chunks + chunk;
  }
};

int Chunks(int64_t points) { return static_cast<int>(CeilDiv(points, kChunkPoints)); }

int64_t BatchSize(int64_t boxes, int64_t points) {
  return std::clamp<int64_t>(kMaxEntries / points, 1, boxes);
}

// Slots of the batch that FindInside zeroes: its tests leave the memory bandwidth unused.
struct ZeroFill {
  int finders = 0;  // blocks that test points; they alternate with blocks that zero
  int32_t* slots = nullptr;
  int64_t count = 0;

  int64_t blocks() const { return CeilDiv(count, kZeroedSlots); }
};

__device__ void ZeroSlots(const ZeroFill& fill, int64_t block) {
  const int64_t begin = block * kZeroedSlots, count = min(kZeroedSlots, fill.count - begin);
  int32_t* slots = fill.slots + begin;
  // The head ends at 16 bytes; the tail starts after the last whole 16 bytes.
  const int64_t unaligned = -(reinterpret_cast<uintptr_t>(slots) / sizeof(int32_t)) % 4;
  const int64_t head = min(unaligned, count), vectors = (count - head) / 4;
  auto* to = reinterpret_cast<uint4*>(slots + head);
  for (int64_t i = threadIdx.x; i < vectors; i += kThreads) to[i] = make_uint4(0, 0, 0, 0);
  for (int64_t i = threadIdx.x; i < head; i += kThreads) slots[i] = 0;
  for (int64_t i = head + vectors * 4 + threadIdx.x; i < count; i += kThreads) slots[i] = 0;
}

// Lists the points of one chunk that are inside one box. Called by a warp.
template <typename T>
__device__ void FindInChunk(const Problem& p, const Lists& lists, const BoxBatch& batch,
                            int64_t task, const T* __restrict__ rois, const T* __restrict__ pts) {
  using Real = RealOf<T>;
  const int lane = threadIdx.x % kLanes;
  const int chunk = static_cast<int>(task / batch.count);
  const int in_batch = static_cast<int>(task % batch.count);
  Real roi[kRoiValues];
#pragma unroll
  for (int i = 0; i < kRoiValues; ++i) {
    roi[i] = static_cast<Real>(rois[int64_t{batch.first + in_batch} * kRoiValues + i]);
  }
  const BoxOf<Real> box = MakeBox(p, roi);
  int2* to = lists.Entries(in_batch, chunk);
  int count = 0;
  const int end = min((chunk + 1) * kChunkPoints, p.points);
  for (int i = chunk * kChunkPoints + lane; i < end + lane; i += kListsInFlight * kLanes) {
    Real at[kListsInFlight][3];  // NaN is outside
#pragma unroll
    for (int a = 0; a < kListsInFlight * 3; ++a) {
      const int point = i + a / 3 * kLanes;
      at[a / 3][a % 3] = point < end ? static_cast<Real>(pts[int64_t{point} * 3 + a % 3])
                                     : std::numeric_limits<Real>::quiet_NaN();
    }
#pragma unroll
    for (int a = 0; a < kListsInFlight; ++a) {
      const int voxel = box.VoxelOf(p, at[a][0], at[a][1], at[a][2]);
      const unsigned inside = __ballot_sync(kAllLanes, voxel >= 0);
      const int before = __popc(inside & ((1u << lane) - 1));
      if (voxel >= 0) to[count + before] = make_int2(voxel, i + a * kLanes);
      count += __popc(inside);
    }
  }
  if (lane == 0) *lists.Count(in_batch, chunk) = count;
}

// Lists the points inside the boxes of a batch, and zeroes slots (see ZeroFill). With enough boxes
// the warps of a block have the same chunk.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    FindInside(Problem p, Lists lists, BoxBatch batch, ZeroFill fill, const T* __restrict__ rois,
               const T* __restrict__ pts) {
  TriggerDependents();
  const int64_t block = blockIdx.x, turns = 2 * int64_t{fill.finders};
  if (block >= turns || block % 2 == 1) {
    ZeroSlots(fill, block < turns ? block / 2 : block - fill.finders);
    return;
  }
  const int64_t task = (block / 2 * kThreads + threadIdx.x) / kLanes;
  if (task >= int64_t{lists.chunks} * batch.count) return;
  FindInChunk(p, lists, batch, task, rois, pts);
}

// Calls visit(entry) for the entries of a list from the kLanes-th on; kListsInFlight loads are in flight.
template <class Visit>
__device__ void VisitTail(const int2* entries, int count, Visit visit) {
  const int lane = threadIdx.x % kLanes;
  for (int first = kLanes; first < count; first += kListsInFlight * kLanes) {
    int2 entry[kListsInFlight];
#pragma unroll
    for (int a = 0; a < kListsInFlight; ++a) {
      const int i = first + a * kLanes + lane;
      entry[a] = i < count ? entries[i] : make_int2(-1, -1);
    }
#pragma unroll
    for (int a = 0; a < kListsInFlight; ++a) {
      if (first + a * kLanes < count) visit(entry[a]);
    }
  }
}

// Calls visit(entry) for this warp's slice of the box's points, in order and with all lanes. Lanes
// without a point have the voxel -1. The slices of the warps are in order too.
template <class Visit>
__device__ void ForEachEntry(const Lists& lists, int box, Visit visit) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const int first = static_cast<int>(int64_t{lists.chunks} * warp / kWarps);
  const int last = static_cast<int>(int64_t{lists.chunks} * (warp + 1) / kWarps);
  const int2 none = make_int2(-1, -1);
  for (int base = first; base < last; base += kLanes) {
    const int own = base + lane < last ? *lists.Count(box, base + lane) : 0;
    unsigned filled = __ballot_sync(kAllLanes, own > 0);
    while (filled != 0) {
      int chunk[kListsInFlight], count[kListsInFlight];
      int2 entry[kListsInFlight];
#pragma unroll
      for (int a = 0; a < kListsInFlight; ++a) {
        const int next = filled == 0 ? 0 : __ffs(filled) - 1;
        chunk[a] = base + next;
        count[a] = __shfl_sync(kAllLanes, filled == 0 ? 0 : own, next);
        entry[a] = lane < count[a] ? lists.Entries(box, chunk[a])[lane] : none;
        filled &= filled - 1;
      }
#pragma unroll
      for (int a = 0; a < kListsInFlight; ++a) {
        if (count[a] > 0) visit(entry[a]);
        VisitTail(lists.Entries(box, chunk[a]), count[a], visit);
      }
    }
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
