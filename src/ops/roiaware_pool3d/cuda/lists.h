// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on CUDA devices: the points inside each box, in ascending order.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/pdl.h"
#include "ops/roiaware_pool3d/cuda/kernels.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffff;

// Points that a warp holds against a box: few, so that a scene of 16000 points and 128 boxes is some
// thousands of warps.
constexpr int kChunk = 512;
// Tests of a thread, and lists of a warp, whose loads are under way at the same time.
constexpr int kAhead = 4;
// Boxes go in groups whose lists have so many entries (32 MiB), if one box needs no more.
constexpr int64_t kEntries = 1 << 22;
// For each box of a group and each chunk of the points: those inside, as (voxel in the box, point).
struct Lists {
  int64_t points;
  int chunks;
  int2* entries;    // [boxes of a group, points]
  int32_t* counts;  // [boxes of a group, chunks]

  __device__ int2* Entries(int box, int chunk) const {
    return entries + box * points + int64_t{chunk} * kChunk;
  }
  __device__ int32_t* Count(int box, int chunk) const {
    return counts + int64_t{box} * chunks + chunk;
  }
};

int Chunks(int64_t points) { return static_cast<int>(CeilDiv(points, kChunk)); }

int64_t GroupSize(int64_t boxes, int64_t points) {
  return std::clamp<int64_t>(kEntries / points, 1, boxes);
}

// The boxes [first, first + count) of all.
struct Group {
  int first, count;
};

__device__ int Cell(float t, int n) {
  return t > 0 ? min(static_cast<int>(fminf(t, kLargestCell)), n - 1) : 0;
}

// -1 outside
__device__ int VoxelOf(const Problem& p, const Box& box, float x, float y, float z) {
  const float dx = x - box.cx, dy = y - box.cy;
  const float lx = dx * box.cosine - dy * box.sine;
  const float ly = dx * box.sine + dy * box.cosine;
  const bool inside =
      fabsf(z - box.middle_z) <= box.half_z && fabsf(lx) < box.half_x && fabsf(ly) < box.half_y;
  if (!inside) return -1;
  const int ix = Cell((lx + box.half_x) / box.cell_x, p.out_x);
  const int iy = Cell((ly + box.half_y) / box.cell_y, p.out_y);
  const int iz = Cell((z - box.cz) / box.cell_z, p.out_z);
  return (ix * p.out_y + iy) * p.out_z + iz;
}

// Slots of the group that FindInside zeroes meanwhile: its tests leave the memory idle. Blocks take
// turns, so that both go on from the start: 0.89 of the time of zeroing in PoolRange, on PartA2.
struct Clearing {
  int finders = 0;  // blocks that hold points against boxes
  int32_t* slots = nullptr;
  int64_t count = 0;

  // Blocks that zero.
  int64_t clearers() const { return CeilDiv(count, kShare); }

  static constexpr int64_t kShare = 1 << 14;  // slots of a block
};

__device__ void Clear(const Clearing& c, int64_t share) {
  const int64_t begin = share * c.kShare, count = min(c.kShare, c.count - begin);
  int32_t* slots = c.slots + begin;
  // Up to the first 16 bytes, and behind the last.
  const int64_t unaligned = -(reinterpret_cast<uintptr_t>(slots) / sizeof(int32_t)) % 4;
  const int64_t head = min(unaligned, count), vectors = (count - head) / 4;
  auto* to = reinterpret_cast<uint4*>(slots + head);
  for (int64_t i = threadIdx.x; i < vectors; i += kThreads) to[i] = make_uint4(0, 0, 0, 0);
  for (int64_t i = threadIdx.x; i < head; i += kThreads) slots[i] = 0;
  for (int64_t i = head + vectors * 4 + threadIdx.x; i < count; i += kThreads) slots[i] = 0;
}

// A warp for a box and a chunk.
template <typename T>
__device__ void FindInChunk(const Problem& p, const Lists& lists, const Group& group, int64_t task,
                            const T* __restrict__ rois, const T* __restrict__ pts) {
  const int lane = threadIdx.x % kLanes;
  const int chunk = static_cast<int>(task / group.count);
  const int in_group = static_cast<int>(task % group.count);
  float roi[kRoiValues];
#pragma unroll
  for (int i = 0; i < kRoiValues; ++i) {
    roi[i] = static_cast<float>(rois[int64_t{group.first + in_group} * kRoiValues + i]);
  }
  const Box box = MakeBox(p, roi);
  int2* to = lists.Entries(in_group, chunk);
  int count = 0;
  const int end = min((chunk + 1) * kChunk, p.points);
  for (int i = chunk * kChunk + lane; i < end + lane; i += kAhead * kLanes) {
    float at[kAhead][3];  // NaN is outside
#pragma unroll
    for (int a = 0; a < kAhead * 3; ++a) {
      const int point = i + a / 3 * kLanes;
      at[a / 3][a % 3] = point < end ? static_cast<float>(pts[int64_t{point} * 3 + a % 3])
                                     : std::numeric_limits<float>::quiet_NaN();
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int voxel = VoxelOf(p, box, at[a][0], at[a][1], at[a][2]);
      const unsigned inside = __ballot_sync(kAllLanes, voxel >= 0);
      const int before = __popc(inside & ((1u << lane) - 1));
      if (voxel >= 0) to[count + before] = make_int2(voxel, i + a * kLanes);
      count += __popc(inside);
    }
  }
  if (lane == 0) *lists.Count(in_group, chunk) = count;
}

// The warps of a block share the chunk where there are boxes enough.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    FindInside(Problem p, Lists lists, Group group, Clearing clearing, const T* __restrict__ rois,
               const T* __restrict__ pts) {
  TriggerDependents();
  const int64_t block = blockIdx.x, turns = 2 * int64_t{clearing.finders};
  if (block >= turns || block % 2 == 1) {
    Clear(clearing, block < turns ? block / 2 : block - clearing.finders);
    return;
  }
  const int64_t task = (block / 2 * kThreads + threadIdx.x) / kLanes;
  if (task >= int64_t{lists.chunks} * group.count) return;
  FindInChunk(p, lists, group, task, rois, pts);
}

// Calls visit(entry) for this warp's share of the box's points, in order and with all lanes; where
// a lane has no point, the voxel is -1. The warps' shares are in order too.
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
      int chunk[kAhead], count[kAhead];
      int2 entry[kAhead];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        const int next = filled == 0 ? 0 : __ffs(filled) - 1;
        chunk[a] = base + next;
        count[a] = __shfl_sync(kAllLanes, filled == 0 ? 0 : own, next);
        entry[a] = lane < count[a] ? lists.Entries(box, chunk[a])[lane] : none;
        filled &= filled - 1;
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        if (count[a] > 0) visit(entry[a]);
        for (int i = kLanes + lane; i < count[a] + lane; i += kLanes) {
          visit(i < count[a] ? lists.Entries(box, chunk[a])[i] : none);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mluop::roiaware_pool3d
