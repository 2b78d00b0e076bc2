// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices: who owns which sums, and where it finds their edges.
#pragma once

#include "ops/border_align/cuda.h"

namespace mluop::border_align {

// Pixels of a longer line have several owners: their sums should leave room for six warps.
inline constexpr int kMostPixels = 256;

template <typename T>
struct BackwardCall {
  Problem p;
  const T* grad_output;   // [N, K, 4, C]
  const T* boxes;         // [N, K, 4]
  const int32_t* argmax;  // [N, K, 4, C]
  T* grad_input;          // [N, H, W, 4*C]
  Lists lists;
  int edges;   // of a warp at a time; a power of two
  int window;  // samples of each at a time; all, if it is more than one edge
  int pixels;  // room for so many sums, and one more

  MLUOP_HOST_DEVICE static int Parts(int size) { return (size + kMostPixels - 1) / kMostPixels; }
  MLUOP_HOST_DEVICE int slices() const { return (p.c + kWarpLanes - 1) / kWarpLanes; }
  // Owners of a line's slice, for both kinds of lines.
  MLUOP_HOST_DEVICE int RowOwners() const { return p.h * Parts(p.w); }
  MLUOP_HOST_DEVICE int ColumnOwners() const { return p.w * Parts(p.h); }
  // Fewer than elements of grad_input.
  MLUOP_HOST_DEVICE int64_t owners() const {
    return int64_t{p.n} * 2 * (RowOwners() + ColumnOwners()) * slices();
  }
};

struct Owner {
  int image, border, line;
  int first, pixels;  // of the line
  int channel;        // of the lane; C or more: it has none
};

// Slices of a line follow each other: they read the same edges.
template <typename T>
__device__ Owner MakeOwner(const BackwardCall<T>& call, int i) {
  const int lane = threadIdx.x % kWarpLanes;
  const int rows = call.RowOwners(), pair = rows + call.ColumnOwners();
  int rest = i / call.slices();
  const int channel = i % call.slices() * kWarpLanes + lane;
  const int image = rest / (2 * pair);
  rest %= 2 * pair;
  int border = rest / pair * 2;
  rest %= pair;
  if (rest >= rows) {
    rest -= rows;
    ++border;
  }
  const int size = MakeAxes(call.p, border).moving_size, parts = call.Parts(size);
  const int length = (size + parts - 1) / parts, first = rest % parts * length;
  return {image, border, rest / parts, first, max(0, min(length, size - first)), channel};
}

// The boxes whose edges may touch a line: two runs of an image's list.
struct Candidates {
  const int32_t* order;  // [K] or NULL
  int begin[2], count[2];

  __device__ int total() const { return count[0] + count[1]; }
  __device__ int Box(int i) const {
    const int at = i < count[0] ? begin[0] + i : begin[1] + i - count[0];
    return order == nullptr ? at : order[at];
  }
};

// Of the two buckets the even one comes first: the owners of neighbouring lines then read the one
// they share at the same time.
template <typename T>
__device__ Candidates FindCandidates(const BackwardCall<T>& call, const Owner& owner) {
  if (call.lists.order == nullptr) return {nullptr, {0, 0}, {call.p.k, 0}};
  const int list = owner.image * kBorders + owner.border;
  const int lines = MakeAxes(call.p, owner.border).fixed_size;
  const int32_t* offsets = call.lists.offsets + int64_t{list} * (kBuckets + 2);
  const int own = BucketOf(owner.line, lines), before = BucketOf(max(owner.line - 1, 0), lines);
  const int a = own % 2 == 0 ? own : before, b = own % 2 == 0 ? before : own;
  const int second = a == b ? 0 : offsets[b + 1] - offsets[b];
  return {call.lists.order + int64_t{list} * call.p.k,
          {offsets[a], offsets[b]},
          {offsets[a + 1] - offsets[a], second}};
}

}  // namespace mluop::border_align
