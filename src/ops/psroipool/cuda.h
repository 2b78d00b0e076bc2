// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: its kernels, and the spans of all bins in scratch, worked out once per
// call because every block looks at every roi.
#pragma once

#include "core/cuda/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

mluOpStatus_t ForwardCuda(const Arguments& arguments, CudaContext& context);
mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context);

// What forward asks of scratch at most, whatever the device.
size_t ForwardScratchCuda(const Problem& p);

#if defined(__CUDACC__)

// Half-open, and one load.
struct alignas(8) Range {
  int32_t begin, end;

  __device__ bool Has(int32_t i) const { return i >= begin && i < end; }
  __device__ int32_t size() const { return end - begin; }
};

// What all bins of a roi are within: bins lie in ascending order.
struct alignas(16) Extent {
  Range rows, columns;
};

// Rows are counted through all images, so that a row says its image too: N*H is below 2^31, as the
// map's elements are. The rows of an empty roi are [0, 0).
struct SpanTable {
  Extent* extents;  // [R]
  Range* rows;      // [R, G]
  Range* columns;   // [R, G]

  static size_t Bytes(const Problem& p) {
    const auto spans = static_cast<size_t>(p.rois) * static_cast<size_t>(p.group);
    return AlignedBytes(static_cast<size_t>(p.rois) * sizeof(Extent) + 2 * spans * sizeof(Range));
  }
  SpanTable(const Problem& p, void* scratch)
      : extents(static_cast<Extent*>(scratch)),
        rows(reinterpret_cast<Range*>(extents + p.rois)),
        columns(rows + p.rois * p.group) {}
};

inline __device__ Range RangeOf(const Span& span, int32_t offset) {
  return {span.begin + offset, span.end + offset};
}

// All threads of a grid write the table. rois: [R, 5]
inline __device__ void WriteSpans(const Problem& p, const float* __restrict__ rois,
                                  const SpanTable& table) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.rois * p.group;
       i += step) {
    const auto span = static_cast<unsigned>(i);  // of fewer than 2^31
    const int64_t r = span / static_cast<unsigned>(p.group);
    const auto bin = static_cast<int>(span % static_cast<unsigned>(p.group));
    int32_t image = 0;
    Axis x = {}, y = {};
    const bool placed = PlaceRoi(p, rois + r * 5, &image, &x, &y);
    const int32_t first_row = image * p.h;
    const Range none = {0, 0};
    table.rows[i] = placed ? RangeOf(BinSpan(y, bin, p.h), first_row) : none;
    table.columns[i] = placed ? RangeOf(BinSpan(x, bin, p.w), 0) : none;
    if (bin > 0) continue;
    const int last = p.group - 1;
    const Range y_range = {BinSpan(y, 0, p.h).begin + first_row,
                           BinSpan(y, last, p.h).end + first_row};
    const Range x_range = {BinSpan(x, 0, p.w).begin, BinSpan(x, last, p.w).end};
    table.extents[r] = placed ? Extent{y_range, x_range} : Extent{none, none};
  }
}

#endif  // __CUDACC__

}  // namespace mluop::psroipool
