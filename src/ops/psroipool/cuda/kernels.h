// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: the entry points, and forward's two ways to pool.
#pragma once

#include "cuda/context.h"
#include "ops/psroipool/problem.h"

namespace mluop::psroipool {

mluOpStatus_t ForwardCuda(const Arguments& arguments, CudaContext& context);
mluOpStatus_t BackwardCuda(const Arguments& arguments, CudaContext& context);

// What forward asks of scratch.
size_t ForwardScratchCuda(const Problem& p);

struct Tensors {
  const float* input;  // [N, H, W, C]
  const float* rois;   // [R, 5]
  float* output;       // [R, G, G, output_dim]
  int32_t* mapping;    // as output
};

// A large map is regrouped in scratch, of so many bytes.
bool FitsRegrouping(const Problem& p);
size_t RegroupedBytes(const Problem& p);
void PoolRegrouped(const Problem& p, const Tensors& t, CudaContext& context);

#if defined(__CUDACC__)

// Half-open, and one load.
struct alignas(8) Range {
  int32_t begin, end;

  __device__ bool Has(int32_t i) const { return i >= begin && i < end; }
  __device__ int32_t size() const { return end - begin; }
};

// Where a bin lies. Rows are counted through all images, so that a row says its image too: N*H is
// below 2^31, as the map's elements are. Both are [0, 0) where the roi is empty.
struct alignas(16) Bin {
  Range rows, columns;

  __device__ int32_t area() const { return rows.size() * columns.size(); }
};

// Where all bins of a roi lie.
struct Place {
  int32_t first_row;  // of the image; -1 where the roi is empty
  Axis x, y;

  __device__ Range Rows(const Problem& p, int ph) const {
    if (first_row < 0) return {0, 0};
    const Span span = BinSpan(y, ph, p.h);
    return {span.begin + first_row, span.end + first_row};
  }
  __device__ Range Columns(const Problem& p, int pw) const {
    if (first_row < 0) return {0, 0};
    const Span span = BinSpan(x, pw, p.w);
    return {span.begin, span.end};
  }
  __device__ Bin BinOf(const Problem& p, int ph, int pw) const {
    return {Rows(p, ph), Columns(p, pw)};
  }
};

// [batch, x1, y1, x2, y2]
struct Roi {
  float values[5] = {};

  __device__ void Load(const float* __restrict__ from) {
#pragma unroll
    for (int i = 0; i < 5; ++i) values[i] = __ldg(from + i);
  }
  __device__ Place PlaceOf(const Problem& p) const {
    Place place = {};
    int32_t image = 0;
    const bool placed = PlaceRoi(p, values, &image, &place.x, &place.y);
    place.first_row = placed ? image * p.h : -1;
    return place;
  }
};

inline __device__ Place PlaceOf(const Problem& p, const float* __restrict__ rois, int64_t r) {
  Roi roi;
  roi.Load(rois + r * 5);
  return roi.PlaceOf(p);
}

// How many floats an address is beyond a multiple of 16 bytes.
inline __device__ int ShiftOf(const float* address) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(address) / sizeof(float) % 4);
}

#endif  // __CUDACC__

}  // namespace mluop::psroipool
