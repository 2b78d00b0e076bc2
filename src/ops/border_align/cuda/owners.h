// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices: which block owns which sums, and where it finds their
// edges.
#pragma once

#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {

// The most pixels of an owner, so that the sums of a warp fit shared memory.
inline constexpr int kMaxPixels = 256;

template <typename T>
struct BackwardCall {
  Problem p;
  const T* grad_output;   // [N, K, 4, C]
  const T* boxes;         // [N, K, 4]
  const int32_t* argmax;  // [N, K, 4, C]
  T* grad_input;          // [N, H, W, 4*C]
  Lists lists;
  int warps;   // of a block, each with 32 channels
  int window;  // samples at a time
  int pixels;  // the most of an owner

  MLUOP_HOST_DEVICE static int Parts(int size) { return (size + kMaxPixels - 1) / kMaxPixels; }
  // Groups of channels, one for each block that owns a line.
  MLUOP_HOST_DEVICE int groups() const {
    return (p.c + warps * kWarpLanes - 1) / (warps * kWarpLanes);
  }
  // The same number of lines for all borders, so that borders alternate in the grid.
  MLUOP_HOST_DEVICE int64_t owners() const {
    const int rows = p.h * Parts(p.w), columns = p.w * Parts(p.h);
    return int64_t{p.n} * kBorders * (rows > columns ? rows : columns) * groups();
  }
};

// A block owns a line's pixels, or a part of them, in channels of one border.
struct Owner {
  int image, border, line;
  int lines, size;    // of the map, across and along the border
  int first, pixels;  // of the line; 0 pixels if the line is beyond the map
  int channel;        // of the lane; C or more: it has none
};

// Orders the map's first and last lines first, then their neighbours: boxes are often clipped at
// the map's ends, so most edges lie there. Neighbouring lines read the same edges, so their blocks
// are adjacent in the grid.
template <typename T>
__device__ Owner MakeOwner(const BackwardCall<T>& call, int64_t i) {
  const int channel = static_cast<int>(i % call.groups()) * (call.warps * kWarpLanes) + threadIdx.x;
  const int64_t rest = i / call.groups();
  const int list = static_cast<int>(rest % (call.p.n * kBorders)), border = list % kBorders;
  const int rank = static_cast<int>(rest / (call.p.n * kBorders));
  const Axes axes = MakeAxes(call.p, border);
  const int lines = axes.fixed_size, size = axes.moving_size, parts = call.Parts(size);
  const int length = (size + parts - 1) / parts, first = rank % parts * length;
  const int line_rank = rank / parts,
            line = line_rank % 2 == 0 ? line_rank / 2 : lines - 1 - line_rank / 2;
  const int pixels = line_rank < lines ? max(0, min(length, size - first)) : 0;
  return {list / kBorders, border, line, lines, size, first, pixels, channel};
}

// Edges that add to a line. The last line of the map may be both lines of an edge, which is then
// visited twice.
struct EdgeRange {
  int begin, count;  // in the list; edges of other lines in it are skipped
  int low;           // the lower line of the edges
  int high;          // 1: the line is their higher one
};

// The edges that touch a line: runs of an image's list.
struct Candidates {
  const int32_t* order;  // [K]
  EdgeRange first, second, third;

  __device__ int total() const { return first.count + second.count + third.count; }
  // The i-th candidate's box; -1 beyond the last.
  __device__ int Box(int i, EdgeRange& run) const {
    run = first;
    if (i >= run.count) {
      i -= run.count;
      run = second;
    }
    if (i >= run.count) {
      i -= run.count;
      run = third;
    }
    return i < run.count ? order[run.begin + i] : -1;
  }
};

// Edges with the lower line `low`; none if it is outside.
template <typename T>
__device__ EdgeRange FindRun(const BackwardCall<T>& call, const Owner& owner, int low, int high) {
  if (low < 0) return {0, 0, low, high};
  const int list = owner.image * kBorders + owner.border;
  const int32_t* offsets =
      call.lists.offsets + int64_t{list} * (kBuckets + 2) + BucketOf(low, owner.lines);
  return {offsets[0], offsets[1] - offsets[0], low, high};
}

// Reads the even bucket first, so that the owners of neighbouring lines read their common bucket at
// the same time.
template <typename T>
__device__ Candidates FindCandidates(const BackwardCall<T>& call, const Owner& owner) {
  const int list = owner.image * kBorders + owner.border, odd = owner.line % 2;
  return {call.lists.order + int64_t{list} * call.p.k, FindRun(call, owner, owner.line - odd, odd),
          FindRun(call, owner, owner.line - 1 + odd, 1 - odd),
          FindRun(call, owner, owner.line == owner.lines - 1 ? owner.line : -1, 1)};
}

}  // namespace mluop::border_align
