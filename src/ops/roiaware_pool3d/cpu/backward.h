// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU: the division of the scatter, without atomics.
//
// The voxels are divided into slices. Each slice adds into its own sums, [points, channels]; then
// the slices are added in ascending order. The number of slices follows from the sizes of the call
// alone, so every number of threads gives the same bits. If there are more threads than slices,
// several threads process one slice, each for its own range of points. This does not change the
// order of any sum: every sum adds its voxels in ascending order, slice by slice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

struct BackwardTensors {
  const int32_t* indices;
  const int32_t* argmax;  // NULL: the average needs none
  const void* grad_out;
  size_t element_bytes;  // of grad_out and grad_in
};

// One worker's task: adds the voxels [begin, end) of all boxes to `points` points from `first_point`
// on. sums: [points, channels], double in calls of that type, else float
template <typename Sum>
struct ScatterTask {
  int64_t begin;
  int64_t end;
  int64_t first_point;
  int64_t points;
  Sum* sums;
};

// The sums of all slices, `stride` elements apart, and the elements that they are added to.
struct SliceSums {
  const void* sums;
  int64_t slices, stride;
  void* grad_in;
};

}  // namespace mluop::roiaware_pool3d
