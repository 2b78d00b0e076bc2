// SPDX-License-Identifier: Apache-2.0
// The pixels of a bin in global memory, on CUDA devices.
#pragma once

#include <type_traits>

#include "ops/roi/span.h"

namespace mluop::roi {

#if defined(__CUDACC__)

// Iterates row by row. Offsets are within an image or plane; with Offset unsigned it has fewer than 2^31
// elements. Offsets past the bin's end may wrap; they are not read.
template <typename Offset = unsigned>
class Pixels {
 public:
  using Count = std::make_signed_t<Offset>;

  __device__ Pixels(Span rows, Span columns, Offset width, Offset pixel_stride)
      : columns_(columns.size()),
        left_(Count{rows.size()} * columns_),
        stride_(pixel_stride),
        offset_((rows.begin * width + columns.begin) * stride_),
        row_change_((width - columns_) * stride_) {}

  // Loads the next kCount values, all in flight at once. Missing pixels are zeros: adding +0 does
  // not change a sum that starts at +0.
  template <int kCount>
  __device__ void Load(const float* __restrict__ from, float (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = any() ? from[offset_] : 0.0f;
      --left_;
      offset_ += stride_;
      if (++column_ < columns_) continue;
      column_ = 0;
      offset_ += row_change_;
    }
  }
  __device__ bool any() const { return left_ > 0; }

 private:
  int columns_;
  Count left_;
  int column_ = 0;
  Offset stride_, offset_, row_change_;
};

#endif  // __CUDACC__

}  // namespace mluop::roi
