// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU: how the scatter is cut so that it needs no atomics.
//
// The voxels are cut into parts, and each part adds into sums of its own, [points, channels]; the
// parts' sums are then added in order. How many parts there are follows from the sizes of the call
// alone, so that every number of threads gives the same bits. Where threads outnumber the parts,
// several share a part, each adding what falls into its own range of points: that does not change
// the order of any sum.
#pragma once

#include <cstdint>

#include "ops/roiaware_pool3d/cpu/tuning.h"

namespace mluop::roiaware_pool3d {

struct BackwardTensors {
  const int32_t* indices;
  const int32_t* argmax;  // NULL: the average does without
  const void* grad_out;
  void* grad_in;
};

// What one thread adds at a time: the voxels [begin, end) of all boxes, where they name one of
// `points` points from `first_point` on. sums: [points, channels]
struct Share {
  int64_t begin;
  int64_t end;
  int64_t first_point;
  int64_t points;
  float* sums;
};

// Sums of a part each, to be added up in this order: first, then `rest` of them, `stride` elements
// apart.
struct Parts {
  const float* first;
  const float* others;
  int64_t stride;
  int rest;
};

}  // namespace mluop::roiaware_pool3d
