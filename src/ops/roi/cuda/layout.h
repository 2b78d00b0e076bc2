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

#endif  // __CUDACC__

}  // namespace mluop::roi
