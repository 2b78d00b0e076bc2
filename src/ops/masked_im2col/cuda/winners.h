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

// A tensor with one row of `size` elements per channel.
struct Rows {
  std::string_view tensor;
  int64_t size;
};

// to[k] = from[source(k)], or 0 if source(k) is negative, for every row.
template <typename T, class Source>
void CopyRows(const CudaCall<Problem>& call, const Source& source, const Rows& from,
              const Rows& to) {
  const auto* in = call.arguments.In<T>(from.tensor);
  auto* out = call.arguments.Out<T>(to.tensor);
  const int64_t in_size = from.size, out_size = to.size, channels = call.p.channels;
  const int64_t wanted = int64_t{call.context.sm_count()} * kTableThreadsPerSm;
  // Different threads copy different slices of the channels.
  const int64_t slices = std::min(channels, CeilDiv(wanted, out_size));
  ForEach(call.context, out_size * slices, [=] __device__(int64_t i) {
    const int64_t slice = i / out_size, k = i - slice * out_size, at = source(k);
#pragma unroll 4
    for (int64_t channel = slice; channel < channels; channel += slices) {
      const T value = at < 0 ? T{0} : __ldg(in + channel * in_size + at);
      __stcs(out + channel * out_size + k, value);
    }
  });
}

// Fills the table at `winners`, then copies.
template <class Source>
mluOpStatus_t CopyByTable(const CudaCall<Problem>& call, int32_t* winners, const Source& source,
                          const Rows& from, const Rows& to) {
  const Problem p = call.p;
  const Masks masks = MasksOf(call.arguments);
  call.context.Zero(winners, WinnersBytes(p));
  ForEach(call.context, p.masks, [=] __device__(int64_t m) {
    const int64_t pixel = p.Offset(masks.h[m], masks.w[m]);
    if (pixel >= 0) atomicMax(winners + pixel, static_cast<int32_t>(m + 1));
  });
  return WithAnyBits(call, [&](auto zero) { CopyRows<decltype(zero)>(call, source, from, to); });
}

}  // namespace
#endif

}  // namespace mluop::masked_im2col
