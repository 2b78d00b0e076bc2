// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU: the division of the scatter, without atomics.
//
// The voxels are divided into slices. Each slice adds into its own sums, [points, channels]; then
// the slices are added in ascending order. The number of slices follows from the sizes of the call
// alone, so every number of threads gives the same bits. If there are more threads than slices,
// several threads process one slice, each for its own range of points. This does not change the
// order of any sum: every sum adds its voxels in ascending order, slice by slice.
#pragma once

#include <cstdint>

#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

struct BackwardTensors {
  const int32_t* indices;
  const int32_t* argmax;  // NULL: the average needs none
  const void* grad_out;
};

// One worker's task: adds the voxels [begin, end) of all boxes to `points` points from `first_point`
// on. sums: [points, channels]
struct ScatterTask {
  int64_t begin;
  int64_t end;
  int64_t first_point;
  int64_t points;
  float* sums;
};

// The elements of grad_in from `first` on.
struct OutputRow {
  void* data;
  int64_t first;
  bool half;
};

// The sums of all slices, `stride` elements apart.
struct SliceSums {
  const float* sums;
  int64_t slices, stride;
};

}  // namespace mluop::roiaware_pool3d
