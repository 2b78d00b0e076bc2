// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices: lines with many edges are divided among blocks. Boxes that
// are clipped to the map put up to half of all edges onto its first and last lines. Each block sums
// a chunk of a line's edges into scratch, and the last block to finish adds the chunks in their
// order. So the bits do not depend on which block that is.
#pragma once

#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {

// The most chunks of a list besides the first chunk of each line. Dividing lines takes 0.53x the
// time with clipped boxes (K=950 on 25x38x1024: 38.9 of 73.8 us), 0.83x with located ones, 1.0x
// with random ones; K=15200 on 100x152x1024, clipped: 0.66x (H200).
inline constexpr int kMaxExtras = 24;
inline constexpr int kMinChunk = 128;  // edges
inline constexpr int kBatch = 32;      // edges that a warp adds at a time

// The most edges of a chunk: twice the average of a line, and enough to bound the extra chunks. An
// edge touches two lines; it is visited twice in a line that is the last of the map.
MLUOP_HOST_DEVICE inline int64_t MaxChunk(int64_t k, int lines) {
  const int64_t per_bucket = (lines + kBuckets - 1) / kBuckets;
  const int64_t twice_average = 4 * k * per_bucket / lines;
  const int64_t bound = 3 * k * per_bucket / kMaxExtras;
  const int64_t edges = twice_average > bound ? twice_average : bound;
  return ((edges > kMinChunk ? edges : kMinChunk) + kBatch) / kBatch * kBatch;
}

// The most extra chunks of a list: each has more than MaxChunk edges before it in its line.
inline int MaxExtras(int64_t k, int lines) {
  const int64_t per_bucket = (lines + kBuckets - 1) / kBuckets;
  return static_cast<int>(3 * k * per_bucket / MaxChunk(k, lines));
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
  EdgeRange first, second, third;

  MLUOP_HOST_DEVICE int total() const { return first.count + second.count + third.count; }
  // Returns the place of the i-th candidate in the list and sets its run.
  MLUOP_HOST_DEVICE int Find(int i, EdgeRange& run) const {
    run = first;
    if (i >= run.count) {
      i -= run.count;
      run = second;
    }
    if (i >= run.count) {
      i -= run.count;
      run = third;
    }
    return run.begin + i;
  }
};

// A line's edges are added in `count` chunks of `edges` candidates each.
struct Chunks {
  int count, edges;
};

// `divides`: false if every line is one chunk.
MLUOP_HOST_DEVICE inline Chunks DivideLine(int total, int k, int lines, bool divides) {
  const int64_t most = MaxChunk(k, lines);
  const int count = static_cast<int>(!divides || total <= most ? 1 : (total + most - 1) / most);
  return {count, ((total + count - 1) / count + kBatch - 1) / kBatch * kBatch};
}

// An extra chunk: the line, and the number of the line's first extra chunk. line < 0: none.
struct ExtraChunk {
  int line, first;
};

// The heavy lines of each list, in scratch. A list is a border of an image.
struct HeavyLines {
  int lists, lines;      // lines: the most of a list
  int extras;            // the most extra chunks of a list, at most kMaxExtras
  int owners;            // of a line: parts of its pixels times groups of channels
  int64_t owner_sums;    // floats of an owner
  ExtraChunk* chunks;    // [lists, extras]
  int32_t* first_extra;  // [lists, lines], set for lines of several chunks
  int32_t* arrivals;     // [lists, extras, owners]: chunks done, by the line's first extra chunk
  float* partial;        // [lists, 2 * extras, owners, owner_sums]: first chunks, then extra ones

  size_t Bytes() const {
    const int64_t extra = int64_t{lists} * extras;
    const int64_t words = extra * 2 + int64_t{lists} * lines + extra * owners;
    return AlignedBytes(words * sizeof(int32_t)) + extra * 2 * owners * owner_sums * sizeof(float);
  }
  // Divides `scratch` of that size, aligned as scratch is.
  void Place(char* scratch) {
    const int64_t extra = int64_t{lists} * extras;
    partial = reinterpret_cast<float*>(scratch);
    chunks = reinterpret_cast<ExtraChunk*>(partial + extra * 2 * owners * owner_sums);
    first_extra = reinterpret_cast<int32_t*>(chunks + extra);
    arrivals = first_extra + int64_t{lists} * lines;
  }

  MLUOP_HOST_DEVICE bool divides() const { return extras > 0; }

  // The sums of a chunk of the line whose first extra chunk is `first`.
  MLUOP_HOST_DEVICE float* Partial(int list, int first, int chunk, int owner) const {
    const int slot = chunk == 0 ? first : extras + first + chunk - 1;
    return partial + ((int64_t{list} * 2 * extras + slot) * owners + owner) * owner_sums;
  }
  MLUOP_HOST_DEVICE int64_t Counter(int list, int first, int owner) const {
    return (int64_t{list} * extras + first) * owners + owner;
  }
};

#if defined(__CUDACC__)

// Edges with the lower line `low`; none if it is outside. `offsets`: of the list.
__device__ inline EdgeRange FindRun(const int32_t* offsets, int lines, int low, int high) {
  if (low < 0) return {0, 0, low, high};
  const int32_t* bucket = offsets + BucketOf(low, lines);
  return {bucket[0], bucket[1] - bucket[0], low, high};
}

// Reads the even bucket first, so that the owners of neighbouring lines read their common bucket at
// the same time.
__device__ inline Candidates FindCandidates(const int32_t* offsets, int lines, int line) {
  const int odd = line % 2;
  return {FindRun(offsets, lines, line - odd, odd),
          FindRun(offsets, lines, line - 1 + odd, 1 - odd),
          FindRun(offsets, lines, line == lines - 1 ? line : -1, 1)};
}

// Lists the extra chunks of a list. Called by one warp.
__device__ inline void ListExtraChunks(const HeavyLines& heavy, int list, int lines, int k,
                                       const int32_t* offsets) {
  const int lane = threadIdx.x % kWarpLanes;
  ExtraChunk* chunks = heavy.chunks + int64_t{list} * heavy.extras;
  int used = 0;
  for (int begin = 0; begin < lines; begin += kWarpLanes) {
    const int line = begin + lane;
    const int total = line < lines ? FindCandidates(offsets, lines, line).total() : 0;
    const int extra = DivideLine(total, k, lines, heavy.divides()).count - 1;
    const int sum = WarpPrefixSum(extra);
    const int first = used + sum - extra;
    if (extra > 0) heavy.first_extra[int64_t{list} * heavy.lines + line] = first;
    for (int i = 0; i < extra; ++i) chunks[first + i] = {line, first};
    used += __shfl_sync(kWholeWarp, sum, kWarpLanes - 1);
  }
  for (int i = used + lane; i < heavy.extras; i += kWarpLanes) chunks[i] = {-1, 0};
}

#endif  // __CUDACC__

}  // namespace mluop::border_align
