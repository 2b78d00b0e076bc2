// SPDX-License-Identifier: Apache-2.0
// The winner of each pixel of a plane, for both directions of masked_col2im: m + 1 for the last
// mask m at the pixel, or 0. atomicMax makes the result independent of the order.
#pragma once

#include <algorithm>
#include <string_view>

#include "cuda/for_each.h"
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

// Zeroes a table in shared memory. There is room for whole vectors of 16 bytes.
__device__ void ZeroTable(int32_t* table, int64_t size) {
  for (int k = threadIdx.x * 4; k < size; k += blockDim.x * 4)
    *reinterpret_cast<int4*>(table + k) = int4{0, 0, 0, 0};
}

// Rows of `from_count` elements, one per channel, to rows of `to_count`.
template <typename T>
struct RowCopy {
  const T* from;
  T* to;
  int64_t from_count, to_count, channels;
  int64_t parts;   // blocks per row
  int64_t slices;  // of the channels, for different blocks
};

// to[k] = from[source(k)], or 0 if source(k) is negative, for every row. Source: a __device__ lambda.
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

// A tensor with one row of `size` elements per channel.
struct Rows {
  std::string_view tensor;
  int64_t size;
};

// Fills the table at `winners`, then copies.
template <class Source>
mluOpStatus_t CopyByTable(const CudaCall<Problem>& call, int32_t* winners, const Source& source,
                          const Rows& from, const Rows& to) {
  const Problem p = call.p;
  const Masks masks = MasksOf(call.arguments);
  CudaContext& context = call.context;
  context.Zero(winners, WinnersBytes(p));
  ForEach(context, p.masks, [=] __device__(int64_t m) {
    const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
    if (pixel >= 0) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
  });
  const int64_t wanted = int64_t{context.sm_count()} * kTableBlocksPerSm;
  const int64_t parts = CeilDiv(to.size, kTableThreads);
  const int64_t slices = std::min<int64_t>(p.channels, CeilDiv(wanted, parts));
  return WithAnyBits(call, [&](auto zero) {
    using T = decltype(zero);
    const RowCopy<T> copy = {call.arguments.In<T>(from.tensor),
                             call.arguments.Out<T>(to.tensor),
                             from.size,
                             to.size,
                             p.channels,
                             parts,
                             slices};
    context.Launch(CopyRows<T, Source>, {parts * slices, kTableThreads}, source, copy);
  });
}

}  // namespace
#endif

}  // namespace mluop::masked_im2col
