// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: declarations that both directions share.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "cuda/context.h"
#include "cuda/words.h"
#include "ops/border_align/problem.h"

namespace mluop::border_align {

extern const CudaOperator kForwardCuda;   // forward.cu
extern const CudaOperator kBackwardCuda;  // backward.cu

// Backward for any size, and for tensors of type double (large.cu).
size_t LargeBackwardBytes(const CudaCall<Problem>& call);
mluOpStatus_t RunLargeBackward(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch);

// Forward where a slice of the map fits shared memory (small_map.cu).
bool FitsShared(const CudaCall<Problem>& call);
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch);
void DescribeSmallMap(const CudaCall<Problem>& call, Plan& plan);

// Buckets of lines that the edges of a border are sorted into, by the lower of the two lines that
// an edge lies between. A line is a row of the map for top and bottom, a column for left and right.
// Maps with more than 256 lines put several lines into one bucket; the counters of a block's warps
// must fit shared memory.
inline constexpr int kBuckets = 256;

// The edges of each border of each image in the order of their lines, boxes in ascending order
// within a bucket. The order follows from the boxes alone.
struct Lists {
  const int32_t* offsets;  // [N, 4, kBuckets + 2]; the last bucket: edges outside the map
  const int32_t* order;    // [N, 4, K]; NULL: not sorted, all boxes ascending
};

// Sorts into `scratch` of ListsBytes (lists.cu). Divides heavy lines among blocks if `heavy` is not
// NULL (heavy_lines.h).
struct HeavyLines;
size_t ListsBytes(const CudaCall<Problem>& call);
Lists SortEdges(const CudaCall<Problem>& call, void* scratch, const HeavyLines* heavy = nullptr);

// The axes of the map, across (`fixed`) and along (`moving`) a border. Strides in elements; they
// fit in int, because an image has fewer than 2^31 elements.
struct Axes {
  int fixed_size, moving_size;
  int fixed_stride, moving_stride;
};

MLUOP_HOST_DEVICE inline Axes MakeAxes(const Problem& p, int border) {
  const int pixel = kBorders * p.c, row = p.w * pixel;
  if (border == kTop || border == kBottom) return {p.h, p.w, row, pixel};
  return {p.w, p.h, pixel, row};
}

MLUOP_HOST_DEVICE inline int BucketOf(int line, int lines) {
  return lines <= kBuckets ? line : line / ((lines + kBuckets - 1) / kBuckets);
}

inline bool IsHalf(const CudaCall<Problem>& call) {
  return call.arguments.Type() == MLUOP_DTYPE_HALF;
}

// Elements of an image in the results.
inline int64_t ResultElements(const Problem& p) { return p.k * p.channels(); }

// Calls body with a value of the tensors' type.
template <class Body>
mluOpStatus_t WithType(const CudaCall<Problem>& call, const Body& body) {
  IsHalf(call) ? body(__half()) : body(float());
  return call.context.status();
}

#if defined(__CUDACC__)

inline constexpr unsigned kWholeWarp = 0xffffffffu;
inline constexpr int kWarpLanes = 32;

template <typename T>
__device__ RealOf<T> AsReal(T value) {
  return static_cast<RealOf<T>>(value);
}

template <typename T>
__device__ BoxOf<RealOf<T>> LoadBox(const T* boxes, int64_t index) {
  const T* box = boxes + index * 4;
  return {AsReal(box[0]), AsReal(box[1]), AsReal(box[2]), AsReal(box[3])};
}

// Returns the sum of the values of this lane and of all lanes before it.
__device__ inline int WarpPrefixSum(int value) {
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const int before = __shfl_up_sync(kWholeWarp, value, distance);
    if (static_cast<int>(threadIdx.x) % kWarpLanes >= distance) value += before;
  }
  return value;
}

// Every kStride-th sample of an edge, from sample `first` < kStride on. Positions accumulate step
// by step, so every lane of an edge computes all steps and uses every kStride-th.
template <int kStride>
class Walk {
 public:
  Walk() = default;
  __device__ Walk(const Edge& edge, int first)
      : position_(edge.start), step_(edge.step), first_(first) {
#pragma unroll
    for (int i = 1; i < kStride; ++i) {
      if (i <= first) position_ += step_;
    }
  }

  // Visits this lane's samples among the next `count`, as visit(i, position). `count` is a multiple
  // of the stride if more samples follow.
  template <class Visit>
  __device__ void Next(int count, Visit visit) {
    for (int i = first_; i < count; i += kStride) {
      if (started_) Advance();
      started_ = true;
      visit(i, position_);
    }
  }

 private:
  __device__ void Advance() {
#pragma unroll
    for (int i = 0; i < kStride; ++i) position_ += step_;
  }

  float position_, step_;
  int first_;
  bool started_ = false;
};

#endif  // __CUDACC__

}  // namespace mluop::border_align
