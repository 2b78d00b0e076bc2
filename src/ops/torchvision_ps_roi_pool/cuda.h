// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: its kernels, and the spans of all bins in scratch,
// worked out once per call because every block looks at every roi.
#pragma once

#include "core/cuda/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

mluOpStatus_t ForwardCuda(const Arguments& arguments, CudaContext& context);
mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context);

#if defined(__CUDACC__)

// Where the bins of a roi lie.
struct Place {
  int64_t image;  // -1: on none
  Axis x, y;
};

inline __device__ Place PlaceOf(const Problem& p, const float* __restrict__ roi) {
  Place place;
  place.image = ImageOf(p, roi[0]);
  const bool x_finite = MakeAxis(p, roi[1], roi[3], p.pooled_w, &place.x);
  const bool y_finite = MakeAxis(p, roi[2], roi[4], p.pooled_h, &place.y);
  if (!x_finite || !y_finite) place.image = -1;
  return place;
}

// Half-open, and one load.
struct alignas(8) Range {
  int32_t begin, end;

  __device__ bool Has(int32_t i) const { return i >= begin && i < end; }
  __device__ int32_t size() const { return end - begin; }
};

// Rows are counted through all images, so that a row says its image too: N*H is below 2^31, as the
// map's elements are. The spans of a roi on no image are [0, 0).
struct SpanTable {
  int64_t rois;
  Range* rows;     // [pooled_h, R]
  Range* columns;  // [pooled_w, R]

  static size_t Bytes(const Problem& p) {
    const int64_t spans = p.rois * (int64_t{p.pooled_h} + p.pooled_w);
    return AlignedBytes(static_cast<size_t>(spans) * sizeof(Range));
  }
  SpanTable(const Problem& p, void* scratch)
      : rois(p.rois), rows(static_cast<Range*>(scratch)), columns(rows + p.pooled_h * p.rois) {}

  __device__ Range Rows(int ph, int64_t r) const { return rows[ph * rois + r]; }
  __device__ Range Columns(int pw, int64_t r) const { return columns[pw * rois + r]; }
};

// All threads of a grid write the table, of fewer than 2^32 spans: R*pooled_h*pooled_w is below
// 2^31. rois: [R, 5]
inline __device__ void WriteSpans(const Problem& p, const float* __restrict__ rois,
                                  const SpanTable& table) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t spans = p.rois * (int64_t{p.pooled_h} + p.pooled_w);
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < spans; i += step) {
    const auto item = static_cast<unsigned>(i), count = static_cast<unsigned>(p.rois);
    const auto bin = static_cast<int>(item / count);  // of the rows, then of the columns
    const Place place = PlaceOf(p, rois + int64_t{item % count} * 5);
    Range range = {0, 0};
    if (place.image >= 0 && bin < p.pooled_h) {
      const Span span = BinSpan(place.y, bin, p.h);
      const auto first_row = static_cast<int32_t>(place.image * p.h);
      range = {span.begin + first_row, span.end + first_row};
    } else if (place.image >= 0) {
      const Span span = BinSpan(place.x, bin - p.pooled_h, p.w);
      range = {span.begin, span.end};
    }
    table.rows[i] = range;  // the columns follow the rows
  }
}

#endif  // __CUDACC__

}  // namespace mluop::torchvision_ps_roi_pool
