// SPDX-License-Identifier: Apache-2.0
// The masks that a thread of masked_im2col backward holds in registers, and the lists of masks at the
// same position of the band.
#pragma once

#include <algorithm>

#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

// Masks that a block processes at a time.
constexpr int kBlockMasks = kKeptMasks * kBackwardThreads;
// Bits of each of the two tables that find masks at the same position. Positions are taken modulo
// kSeenBits.
constexpr uint32_t kSeenBits = 16384;
constexpr int kSeenWords = kSeenBits / 32;
// Buckets of the lists of masks. The bucket depends on the position, and on the half of the block's
// masks: the halves keep lists short.
constexpr uint32_t kBuckets = 1024;
constexpr int kHalves = 2;
constexpr int kMaxPlaces = 1 << 16;  // of a band

// Masks are numbered from 1; 0 ends a list. The tables are small, because shared memory that the
// blocks of an SM do not use serves as its L1.
struct Tables {
  struct Search {
    uint32_t seen[kSeenWords];       // at least one mask at this position
    uint32_t duplicate[kSeenWords];  // at least two masks at this position
    int32_t head[kBuckets];          // lists of repeated masks, in arbitrary order
    uint16_t place[kBlockMasks];     // of repeated masks
  };
  union {
    Search search;              // until the masks are linked
    float values[kBlockMasks];  // afterwards: one kernel element of the masks that are not first
  };
  // The next mask of the bucket's list, in arbitrary order. After linking: the next mask at the same
  // position, in ascending order.
  uint16_t next[kBlockMasks];
};

// A rectangle of pixels of a plane, and kernel_h x kernel_w kernel elements from (i, j) on. The
// sums have a margin of the kernel's size, so that masks at the border need no bounds check. It has
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
  // Returns the index in `sums` of the pixel (r, c) of the band.
  __device__ int Place(int r, int c) const { return (r + kernel_h) * pitch() + kernel_w + c; }
};

// The masks of a thread: kKeptMasks/V groups of V masks, a stride of blockDim.x groups apart.
template <int V>
struct ThreadMasks {
  static constexpr int kNone = 0, kListed = -1;
  static constexpr int kFirst = kMaxPlaces;  // a flag
  // The place of the kernel's upper left corner, plus kFirst if a list of further masks starts here.
  // kNone: the kernel misses the band. kListed: the first mask at the same position adds this one.
  int at[kKeptMasks];

  // The number of mask k in the block, from 1 on.
  static __device__ int Number(int k) {
    return (k / V * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * V + k % V + 1;
  }
  template <bool kLinked>
  __device__ int Place(int k) const {
    return kLinked ? at[k] % kMaxPlaces : at[k];
  }
};

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
__device__ ThreadMasks<V> LoadThreadMasks(const Problem& p, const Masks& masks, const Band& band,
                                          int64_t first) {
  ThreadMasks<V> kept;
#pragma unroll
  for (int k = 0; k < kKeptMasks; k += V) {
    const int64_t m = first + kept.Number(k) - 1;
    int32_t h[V] = {}, w[V] = {};
    if (m < p.masks) {
      LoadElements(masks.h + m, h);
      LoadElements(masks.w + m, w);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) kept.at[k + v] = m < p.masks ? PlaceOf(p, band, h[v], w[v]) : 0;
  }
  return kept;
}

__device__ void ClearSearch(Tables::Search* search) {
  auto* const words = reinterpret_cast<uint32_t*>(search);
  constexpr int kWords = offsetof(Tables::Search, place) / sizeof(uint32_t);
  for (int k = threadIdx.x; k < kWords; k += blockDim.x) words[k] = 0;
}

// Sets a bit and returns whether it was set before. Atomics to one word are serialised, so a bit that
// is set is only read.
__device__ bool SetBit(uint32_t* word, uint32_t one) {
  return (*static_cast<volatile uint32_t*>(word) & one) != 0 || (atomicOr(word, one) & one) != 0;
}

// Returns the masks that share their position with another mask, as bits; sometimes others too. The
// tables must be clear.
template <int V>
__device__ uint32_t FindRepeated(Tables::Search* search, const ThreadMasks<V>& kept) {
  bool twice = false;
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (kept.at[k] == 0) continue;
    const uint32_t bit = kept.at[k] % kSeenBits, one = 1u << bit % 32;
    if (!SetBit(&search->seen[bit / 32], one)) continue;
    SetBit(&search->duplicate[bit / 32], one);
    twice = true;
  }
  if (!__syncthreads_or(twice)) return 0;
  uint32_t repeated = 0;
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    const uint32_t bit = kept.at[k] % kSeenBits;
    const bool duplicate = kept.at[k] != 0 && (search->duplicate[bit / 32] >> bit % 32 & 1) != 0;
    repeated |= static_cast<uint32_t>(duplicate) << k;
  }
  return repeated;
}

// Returns the list of the masks at a place in a half. It may have masks at other places too.
__device__ int32_t* ListOf(Tables::Search* search, int place, int half) {
  return search->head + static_cast<uint32_t>(place * kHalves + half) % kBuckets;
}
__device__ int HalfOf(int number) {
  return (number - 1) / (kKeptMasks / kHalves * static_cast<int>(blockDim.x));
}

// Returns the greatest mask below `number` at the same place; 0: none.
__device__ int FindPrevious(Tables* tables, int place, int number) {
  int found = 0;
  for (int half = HalfOf(number); half >= 0 && found == 0; --half) {
    int other = *ListOf(&tables->search, place, half);
    for (; other != 0; other = tables->next[other - 1]) {
      if (other < number && tables->search.place[other - 1] == place) found = max(found, other);
    }
  }
  return found;
}

// Links the repeated masks of each position in ascending order. Returns whether the block has any.
template <int V>
__device__ bool LinkMasks(Tables* tables, uint32_t repeated, ThreadMasks<V>* kept) {
  if (!__syncthreads_or(repeated != 0)) return false;
  const auto is_repeated = [=](int k) { return (repeated >> k & 1) != 0; };
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (!is_repeated(k)) continue;
    const int number = kept->Number(k), place = kept->at[k];
    tables->search.place[number - 1] = static_cast<uint16_t>(place);
    int32_t* const list = ListOf(&tables->search, place, HalfOf(number));
    tables->next[number - 1] = static_cast<uint16_t>(atomicExch(list, number));
  }
  __syncthreads();
  int previous[kKeptMasks];
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k)
    previous[k] = is_repeated(k) ? FindPrevious(tables, kept->at[k], kept->Number(k)) : 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (is_repeated(k)) tables->next[kept->Number(k) - 1] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    if (previous[k] == 0) continue;
    tables->next[previous[k] - 1] = static_cast<uint16_t>(kept->Number(k));
    kept->at[k] = kept->kListed;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kKeptMasks; ++k) {
    const bool first = is_repeated(k) && previous[k] == 0;
    if (first && tables->next[kept->Number(k) - 1] != 0) kept->at[k] += kept->kFirst;
  }
  return true;
}

}  // namespace
}  // namespace mluop::masked_im2col
