// SPDX-License-Identifier: Apache-2.0
// The winner of each pixel of a plane, for both directions of masked_col2im: m + 1 for the last
// mask m at the pixel, or 0. atomicMax makes the result independent of the order.
#pragma once

#include <algorithm>

#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {

inline size_t WinnersBytes(const Problem& p) {
  return static_cast<size_t>(p.plane()) * sizeof(int32_t);
}

inline size_t WinnersScratch(const CudaCall<Problem>& call) { return WinnersBytes(call.p); }

#if defined(__CUDACC__)
namespace {

// The result of PixelOf for a mask outside the plane. Planes have fewer than 2^32 pixels.
constexpr uint32_t kOutside = ~0u;
__device__ uint32_t PixelOf(const Problem& p, int32_t h, int32_t w) {
  const auto row = static_cast<uint32_t>(h), column = static_cast<uint32_t>(w);
  const auto width = static_cast<uint32_t>(p.width);
  const bool inside = row < static_cast<uint32_t>(p.height) && column < width;
  return inside ? row * width + column : kOutside;
}

// `winners` must be zero on entry.
__global__ void __launch_bounds__(kTableThreads)
    FindWinners(Problem p, Masks masks, int32_t* __restrict__ winners) {
  const int64_t m = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= p.masks) return;
  const int64_t pixel = p.Offset(__ldg(masks.h + m), __ldg(masks.w + m));
  if (pixel >= 0) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
}

// The mask that a pixel gets its element from; -1: none.
struct MaskOfPixel {
  const int32_t* winners;
  __device__ int64_t operator()(int64_t pixel) const { return int64_t{winners[pixel]} - 1; }
};

// The pixel that a mask gets its gradient from; -1: none.
struct PixelOfMask {
  Problem p;
  Masks masks;
  const int32_t* winners;
  __device__ int64_t operator()(int64_t m) const {
    const int64_t pixel = p.Offset(__ldg(masks.h + m), __ldg(masks.w + m));
    return pixel >= 0 && winners[pixel] == m + 1 ? pixel : -1;
  }
};

// Rows of `from_count` elements, one per channel, to rows of `to_count`.
template <typename T>
struct RowCopy {
  const T* from;
  T* to;
  int64_t from_count, to_count, channels;
  int64_t parts = 1;   // blocks per row
  int64_t slices = 1;  // of the channels, for different blocks
};

// to[k] = from[source(k)], or 0 if source(k) is negative, for every row.
template <typename T, class Source>
__global__ void __launch_bounds__(kTableThreads) CopyRows(Source source, RowCopy<T> c) {
  const int64_t k = blockIdx.x % c.parts * blockDim.x + threadIdx.x;
  if (k >= c.to_count) return;
  const int64_t at = source(k);
#pragma unroll 4
  for (int64_t channel = blockIdx.x / c.parts; channel < c.channels; channel += c.slices) {
    const T value = at < 0 ? T{0} : __ldg(c.from + channel * c.from_count + at);
    __stcs(c.to + channel * c.to_count + k, value);
  }
}

// Fills the table at `winners`, then copies.
template <typename T, class Source>
void CopyByTable(const CudaCall<Problem>& call, int32_t* winners, const Source& source,
                 RowCopy<T> c) {
  CudaContext& context = call.context;
  context.Zero(winners, WinnersBytes(call.p));
  if (call.p.masks > 0) {
    context.Launch(FindWinners, {CeilDiv(call.p.masks, kTableThreads), kTableThreads}, call.p,
                   MasksOf(call.arguments), winners);
  }
  const int64_t wanted = int64_t{context.sm_count()} * kTableBlocksPerSm;
  c.parts = CeilDiv(c.to_count, kTableThreads);
  c.slices = std::min(c.channels, CeilDiv(wanted, c.parts));
  context.Launch(CopyRows<T, Source>, {c.parts * c.slices, kTableThreads}, source, c);
}

}  // namespace
#endif

}  // namespace mluop::masked_im2col
