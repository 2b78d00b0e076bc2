// SPDX-License-Identifier: Apache-2.0
// The masks that a thread of masked_im2col backward keeps in registers: where their kernels meet the
// block's band of pixels, and which of them have another mask at their position.
#pragma once

#include <algorithm>

#include "ops/masked_im2col/cuda.h"

namespace mluop::masked_im2col {
namespace {

// Masks that a thread keeps in registers over all kernel elements.
constexpr int kKept = 8;
// Two bits for each position, to find masks at the same one.
constexpr uint32_t kSeenBits = 16384;
constexpr int kSeenWords = kSeenBits / 32;

struct Tables {
  uint32_t seen[kSeenWords];   // a mask is there
  uint32_t again[kSeenWords];  // another one is, too
  uint32_t turns[kKept];       // the warps whose k-th masks have one like them
};

struct Band {
  int64_t channel;
  uint32_t begin, size;  // pixels
  Tables* tables;
  float* sums;  // [size]
};

// The masks of a thread: kKept/V groups of V, a block's threads apart.
struct Kept {
  int32_t top[kKept], left[kKept];  // top is p.height where nothing of the kernel is in the band
  uint32_t repeated = 0;            // bit k: mask k may have another one at its position

  __device__ bool IsIn(const Problem& p, int k) const { return top[k] != p.height; }
};

// Where kernel element (i, j) of mask k meets the band; kOutside elsewhere. Unsigned sums that wrap:
// a cut corner plus a kernel index lies above -2^31 and below 2^32.
constexpr uint32_t kOutside = ~0u;
__device__ uint32_t Meet(const Problem& p, const Band& band, const Kept& kept, int k, int2 tap) {
  const uint32_t h = static_cast<uint32_t>(kept.top[k]) + static_cast<uint32_t>(tap.x);
  const uint32_t w = static_cast<uint32_t>(kept.left[k]) + static_cast<uint32_t>(tap.y);
  const uint32_t at = h * static_cast<uint32_t>(p.width) + w - band.begin;
  const bool inside = h < static_cast<uint32_t>(p.height) && w < static_cast<uint32_t>(p.width);
  return inside && at < band.size ? at : kOutside;
}

// Whether the rectangle of the kernel may have a pixel in the band.
__device__ bool Touches(const Problem& p, const Band& band, int64_t top, int64_t left) {
  const int64_t h0 = top < 0 ? 0 : top, w0 = left < 0 ? 0 : left;
  const int64_t h1 = std::min<int64_t>(top + p.kernel_h, p.height) - 1;
  const int64_t w1 = std::min<int64_t>(left + p.kernel_w, p.width) - 1;
  return h0 <= h1 && w0 <= w1 && h0 * p.width + w0 < int64_t{band.begin} + band.size &&
         h1 * p.width + w1 >= band.begin;
}

template <int V>
__device__ Kept LoadKept(const Problem& p, const Masks& masks, const Band& band, int64_t first) {
  Kept kept;
#pragma unroll
  for (int k = 0; k < kKept; k += V) {
    const int64_t m = first + int64_t{k} * blockDim.x + int64_t{threadIdx.x} * V;
    int32_t h[V] = {}, w[V] = {};
    if (m < p.masks) {
      LoadIntegers<V>(masks.h + m, h);
      LoadIntegers<V>(masks.w + m, w);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      kept.top[k + v] = p.Top(h[v]);
      kept.left[k + v] = p.Left(w[v]);
      if (m >= p.masks || !Touches(p, band, kept.top[k + v], kept.left[k + v]))
        kept.top[k + v] = p.height;
    }
  }
  return kept;
}

// Different for different positions, unless kernels are large or rows long: then masks may take
// turns without need.
__device__ uint32_t SeenBit(const Problem& p, const Kept& kept, int k) {
  const auto h = static_cast<uint32_t>(kept.top[k]) + static_cast<uint32_t>(p.kernel_h);
  const auto w = static_cast<uint32_t>(kept.left[k]) + static_cast<uint32_t>(p.kernel_w);
  const auto row = static_cast<uint32_t>(p.width) + static_cast<uint32_t>(p.kernel_w);
  return (h * row + w) % kSeenBits;
}

__device__ void ClearTables(Tables* tables) {
  auto* const words = reinterpret_cast<uint32_t*>(tables);
  for (int k = threadIdx.x; k < static_cast<int>(sizeof(Tables) / 4); k += blockDim.x) words[k] = 0;
}

// Fills kept->repeated; returns whether any thread has any. The tables are clear.
__device__ bool FindRepeated(const Problem& p, Tables* tables, Kept* kept) {
  bool twice = false;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    if (!kept->IsIn(p, k)) continue;
    const uint32_t bit = SeenBit(p, *kept, k), one = 1u << bit % 32;
    if ((atomicOr(&tables->seen[bit / 32], one) & one) == 0) continue;
    atomicOr(&tables->again[bit / 32], one);
    twice = true;
  }
  if (!__syncthreads_or(twice)) return false;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    const uint32_t bit = SeenBit(p, *kept, k);
    const bool repeated = kept->IsIn(p, k) && (tables->again[bit / 32] >> bit % 32 & 1) != 0;
    kept->repeated |= static_cast<uint32_t>(repeated) << k;
    if (__any_sync(~0u, repeated) && threadIdx.x % 32 == 0)
      atomicOr(&tables->turns[k], 1u << threadIdx.x / 32);
  }
  __syncthreads();
  return true;
}

}  // namespace
}  // namespace mluop::masked_im2col
