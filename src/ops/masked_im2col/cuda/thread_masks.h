// SPDX-License-Identifier: Apache-2.0
// The masks that a thread of masked_im2col backward holds in registers: their positions in the band
// of pixels, and their turns. Masks at the same position take turns.
#pragma once

#include <algorithm>

#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

// Two bits for each position, to find masks at the same one.
constexpr uint32_t kSeenBits = 16384;
constexpr int kSeenWords = kSeenBits / 32;
// Buckets of positions, used to assign turns to masks at the same position.
constexpr uint32_t kBuckets = 2048;
// Upper bound of the places in a band. A multiple of kSeenBits and kBuckets, so that adding turn *
// kMaxPlaces keeps both hashes.
constexpr int kMaxPlaces = 1 << 16;

struct Tables {
  uint32_t seen[kSeenWords];       // at least one mask at this position
  uint32_t duplicate[kSeenWords];  // at least two masks at this position
  int32_t first[kBuckets];         // the first of the masks that have no turn yet
};

// A rectangle of pixels of a plane, and kernel_h x kernel_w kernel elements from (i, j) on. The
// sums have a margin of the kernel's size, so that masks at the border need no bounds check:
// kernel_h rows above and below, and kernel_w columns between the rows, before the first and after
// the last.
struct Band {
  int row, column, rows, columns;
  int i, j, kernel_h, kernel_w;
  int64_t channel;
  Tables* tables;
  float* sums;

  __device__ int pitch() const { return columns + kernel_w; }
  __device__ int size() const { return (rows + 2 * kernel_h) * pitch() + kernel_w; }
  // Of a pixel, from the band's first one on.
  __device__ int Place(int r, int c) const { return (r + kernel_h) * pitch() + kernel_w + c; }
};

// The masks of a thread: kKeptMasks/V groups of V, a block's threads apart.
struct ThreadMasks {
  // Bits 0-15: the place of the kernel's upper left corner, 0 where the kernel misses the band. Bits
  // 16-31: the turn.
  int at[kKeptMasks];

  // The place of mask k if it adds in this turn, else 0 or less, or kMaxPlaces or more.
  __device__ int Place(int k, int turn) const { return at[k] - turn * kMaxPlaces; }
};
__device__ bool IsPlace(int place) {
  return static_cast<uint32_t>(place - 1) < static_cast<uint32_t>(kMaxPlaces - 1);
}

// Clamps a corner to the band. Returns 0 if the kernel ends before the band, size + kernel if it
// begins after it.
__device__ int ClampToBand(int64_t corner, int begin, int size, int kernel) {
  const int64_t place = corner - begin + kernel, most = int64_t{size} + kernel;
  return static_cast<int>(place < 0 ? 0 : place > most ? most : place);
}

__device__ int PlaceOf(const Problem& p, const Band& band, int32_t h, int32_t w) {
  const int top = ClampToBand(int64_t{h} - p.pad_h + band.i, band.row, band.rows, band.kernel_h);
  const int left =
      ClampToBand(int64_t{w} - p.pad_w + band.j, band.column, band.columns, band.kernel_w);
  const bool overlaps =
      top > 0 && top < band.rows + band.kernel_h && left > 0 && left < band.columns + band.kernel_w;
  return overlaps ? top * band.pitch() + left : 0;
}

template <int V>
__device__ ThreadMasks LoadThreadMasks(const Problem& p, const Masks& masks, const Band& band,
                                       int64_t first) {
  ThreadMasks kept;
#pragma unroll
  for (int k = 0; k < kKeptMasks; k += V) {
    const int64_t m = first + int64_t{k} * blockDim.x + int64_t{threadIdx.x} * V;
    int32_t h[V] = {}, w[V] = {};
    if (m < p.masks) {
      LoadIntegers<V>(masks.h + m, h);
      LoadIntegers<V>(masks.w + m, w);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) kept.at[k + v] = m < p.masks ? PlaceOf(p, band, h[v], w[v]) : 0;
  }
  return kept;
}

__device__ void ClearTables(Tables* tables) {
  auto* const words = reinterpret_cast<uint32_t*>(tables);
  for (int k = threadIdx.x; k < static_cast<int>(sizeof(Tables) / 4); k += blockDim.x) words[k] = 0;
}

// The masks that have another one at their position, a bit each. The tables are clear.
__device__ uint32_t FindRepeated(Tables* tables, const ThreadMasks& kept) {
  bool twice = false;
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (kept.at[k] == 0) continue;
    const uint32_t bit = kept.at[k] % kSeenBits, one = 1u << bit % 32;
    if ((atomicOr(&tables->seen[bit / 32], one) & one) == 0) continue;
    atomicOr(&tables->duplicate[bit / 32], one);
    twice = true;
  }
  if (!__syncthreads_or(twice)) return 0;
  uint32_t repeated = 0;
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    const uint32_t bit = kept.at[k] % kSeenBits;
    const bool duplicate = kept.at[k] != 0 && (tables->duplicate[bit / 32] >> bit % 32 & 1) != 0;
    repeated |= static_cast<uint32_t>(duplicate) << k;
  }
  return repeated;
}

// Gives the masks of each bucket their turns in ascending order, and returns the number of turns.
// Masks at different positions may share a bucket; they then get separate turns unnecessarily. V:
// masks of a group.
template <int V>
__device__ int TakeTurns(Tables* tables, uint32_t repeated, ThreadMasks* kept) {
  // The first mask of a bucket has the greatest key.
  const auto key = [&](int k) {
    const int before = (k / V * static_cast<int>(blockDim.x) + threadIdx.x) * V + k % V;
    return kKeptMasks * static_cast<int>(blockDim.x) - before;
  };
  int turn = 0;
  for (; __syncthreads_or(repeated != 0); ++turn) {
#pragma unroll
    for (int k = 0; k < kKeptMasks; ++k) {
      if ((repeated >> k & 1) != 0) atomicMax(tables->first + kept->at[k] % kBuckets, key(k));
    }
    __syncthreads();
    uint32_t assigned = 0;
#pragma unroll
    for (int k = 0; k < kKeptMasks; ++k) {
      const bool is_first =
          (repeated >> k & 1) != 0 && tables->first[kept->at[k] % kBuckets] == key(k);
      assigned |= static_cast<uint32_t>(is_first) << k;
      if (is_first) kept->at[k] += turn * kMaxPlaces;
    }
    repeated &= ~assigned;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kKeptMasks; ++k) {
      if ((assigned >> k & 1) != 0) tables->first[kept->at[k] % kBuckets] = 0;
    }
  }
  return max(turn, 1);
}

}  // namespace
}  // namespace mluop::masked_im2col
