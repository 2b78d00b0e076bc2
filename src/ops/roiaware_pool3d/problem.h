// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: the sizes of a call and the geometry of a box, for all devices and both
// directions.
//
// The voxel of a point (x, y, z) in a box (every step rounds to float, without FMA):
//   lx = (x-cx)*cosine - (y-cy)*sine        ly = (x-cx)*sine + (y-cy)*cosine
//   inside: |z - middle_z| <= half_z and |lx| < half_x and |ly| < half_y
//   ix = cell of (lx+half_x)/cell_x in out_x, iy = cell of (ly+half_y)/cell_y in out_y,
//   iz = cell of (z-cz)/cell_z in out_z
//   voxel = (ix*out_y + iy)*out_z + iz
// The cell of t in n is t truncated and clamped to [0, n-1]; NaN (0/0 in a flat box) gives 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"

namespace mluop::roiaware_pool3d {

enum PoolMethod { kMaximum = 0, kAverage = 1 };

constexpr int kRoiValues = 7;

// The largest float that an int can hold. A cell is clamped to it before the conversion.
constexpr float kLargestCell = 2147483520.0f;

struct Problem {
  PoolMethod method;
  bool half;  // the element type: half or float
  int boxes, points, channels;
  int out_x, out_y, out_z;
  int slots;  // max_pts_each_voxel: a voxel's row of pts_idx_of_voxels; the first holds the count

  MLUOP_HOST_DEVICE int64_t box_voxels() const { return int64_t{out_x} * out_y * out_z; }
  MLUOP_HOST_DEVICE int64_t voxels() const { return boxes * box_voxels(); }
  // Points that a voxel can store.
  MLUOP_HOST_DEVICE int capacity() const { return slots - 1; }
  // The number of points of a voxel whose first slot holds `count`.
  MLUOP_HOST_DEVICE int Stored(int32_t count) const { return std::clamp(count, 0, capacity()); }
};

struct Box {
  float cx, cy, cz;
  float half_x, half_y, half_z;
  float middle_z;
  float cell_x, cell_y, cell_z;
  float cosine, sine;  // of -rz
};

// roi: cx, cy, cz (of the bottom), dx, dy, dz, rz
MLUOP_HOST_DEVICE inline Box MakeBox(const Problem& p, const float (&roi)[kRoiValues]) {
  const auto [cx, cy, cz, dx, dy, dz, rz] = roi;
  const double turn = -rz;  // in double: every device rounds to the same float
  return {.cx = cx,
          .cy = cy,
          .cz = cz,
          .half_x = dx / 2,
          .half_y = dy / 2,
          .half_z = dz / 2,
          .middle_z = cz + dz / 2,
          .cell_x = dx / static_cast<float>(p.out_x),
          .cell_y = dy / static_cast<float>(p.out_y),
          .cell_z = dz / static_cast<float>(p.out_z),
          .cosine = static_cast<float>(std::cos(turn)),
          .sine = static_cast<float>(std::sin(turn))};
}

inline Problem MakeProblem(const Arguments& a, int64_t points) {
  return {.method = static_cast<PoolMethod>(a.Int("pool_method")),
          .half = a.Type() == MLUOP_DTYPE_HALF,
          .boxes = a.Int("boxes_num"),
          .points = static_cast<int>(points),
          .channels = a.Int("channels"),
          .out_x = a.Int("out_x"),
          .out_y = a.Int("out_y"),
          .out_z = a.Int("out_z"),
          .slots = a.Int("max_pts_each_voxel")};
}
inline Problem MakeForwardProblem(const Arguments& a) { return MakeProblem(a, a.Int("pts_num")); }
inline Problem MakeBackwardProblem(const Arguments& a) { return MakeProblem(a, a.Symbol("P")); }

}  // namespace mluop::roiaware_pool3d
