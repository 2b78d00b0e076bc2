// SPDX-License-Identifier: Apache-2.0
// Where the elements of a position-sensitive pooling lie, on CUDA devices. Families pass their
// Problem, with n, h, w, rois, output_dim, bins_h(), bins_w(), bins(), channels() and
// map_elements(), and a function PlaceRoi(problem, roi) that returns a RoiPlace.
#pragma once

#include <cstdint>

#include "ops/roi/span.h"

namespace mluop::roi {

// Tensors of a backward call. Output channel c of a bin is channel c*bins + bin of the map.
template <typename T>
struct PooledGradients {
  const T* pooled;  // gradients of the pooled values
  const T* rois;    // [R, 5]
  const int32_t*
      mapping;  // channel of each pooled value, as `pooled`; not read without Family::kHasMapping
  T* map;
};

#if defined(__CUDACC__)

// kNchw: the map is [N, C, H, W] and pooled values are [R, output_dim, bins]; otherwise [N, H, W, C]
// and [R, bins, output_dim].
template <bool kNchw>
struct ElementLayout {
  template <class Problem>
  static __device__ int64_t Pooled(const Problem& p, int64_t r, int64_t bin, int64_t c) {
    return r * p.channels() + (kNchw ? c * p.bins() + bin : bin * p.output_dim + c);
  }
  // `pixel` is y*W + x.
  template <class Problem>
  static __device__ int64_t Map(const Problem& p, int64_t image, int64_t pixel, int64_t channel) {
    const int64_t pixels = int64_t{p.h} * p.w;
    return kNchw ? (image * p.channels() + channel) * pixels + pixel
                 : (image * pixels + pixel) * p.channels() + channel;
  }
};

// Reads the flags, strided over the block. Returns whether this thread read a set one.
inline __device__ bool ReadsFlag(const int* flags, int count) {
  bool any = false;
  for (int i = threadIdx.x; i < count; i += blockDim.x) any |= flags[i] != 0;
  return any;
}

// Returns the gradient of one element of the map for any mapping: a slow fallback. Adds RoIs, bins
// and output channels in ascending order. Family::Scale(gradient, area) divides a gradient among
// the pixels of its bin.
template <class Family, bool kNchw, class Problem, typename T>
__device__ __noinline__ T SumElement(const Problem& p, const PooledGradients<T>& t, int32_t row,
                                     int32_t column, int64_t channel) {
  T sum = 0;
  for (int64_t r = 0; r < p.rois; ++r) {
    const auto place = PlaceRoi(p, t.rois + r * 5);
    for (int bin = 0; bin < p.bins(); ++bin) {
      const Span rows = place.MapRows(p, bin / p.bins_w());
      const Span columns = place.Columns(p, bin % p.bins_w());
      if (!rows.Has(row) || !columns.Has(column)) continue;
      const auto area = static_cast<T>(rows.size() * columns.size());
      for (int64_t c = 0; c < p.output_dim; ++c) {
        const int64_t i = ElementLayout<kNchw>::Pooled(p, r, bin, c);
        if (t.mapping[i] == channel) sum += Family::Scale(t.pooled[i], area);
      }
    }
  }
  return sum;
}

#endif  // __CUDACC__

}  // namespace mluop::roi
