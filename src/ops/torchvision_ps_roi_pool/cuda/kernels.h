// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: its kernels, and where bins lie.
#pragma once

#include "cuda/context.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

mluOpStatus_t ForwardCuda(const Arguments& arguments, CudaContext& context);
mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context);

#if defined(__CUDACC__)

// Half-open, and one load.
struct alignas(8) Range {
  int32_t begin, end;

  __device__ bool Has(int32_t i) const { return i >= begin && i < end; }
  __device__ int32_t size() const { return end - begin; }
};

// Where the bins of a roi lie. Rows are counted through all images, so that a row says its image
// too: N*H is below 2^31, as the map's elements are. Both are [0, 0) of a roi on no image.
struct Place {
  int64_t image;  // -1: on none
  Axis x, y;

  __device__ Range Rows(const Problem& p, int ph) const {
    if (image < 0) return {0, 0};
    const Span span = BinSpan(y, ph, p.h);
    const auto first = static_cast<int32_t>(image * p.h);
    return {span.begin + first, span.end + first};
  }
  __device__ Range Columns(const Problem& p, int pw) const {
    if (image < 0) return {0, 0};
    const Span span = BinSpan(x, pw, p.w);
    return {span.begin, span.end};
  }
};

inline __device__ Place PlaceOf(const Problem& p, const float* __restrict__ roi) {
  Place place;
  place.image = ImageOf(p, roi[0]);
  const bool x_finite = MakeAxis(p, roi[1], roi[3], p.pooled_w, &place.x);
  const bool y_finite = MakeAxis(p, roi[2], roi[4], p.pooled_h, &place.y);
  if (!x_finite || !y_finite) place.image = -1;
  return place;
}

// The spans of all bins in scratch, worked out once per call because every block of forward looks
// at every roi.
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
    table.rows[i] = bin < p.pooled_h ? place.Rows(p, bin) : place.Columns(p, bin - p.pooled_h);
  }
}

#endif  // __CUDACC__

}  // namespace mluop::torchvision_ps_roi_pool
