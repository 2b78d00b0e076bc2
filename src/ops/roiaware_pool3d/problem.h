// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: the sizes of a call and the geometry of a box, for all devices and both
// directions.
//
// The voxel of a point (x, y, z) in a box (every step rounds to float, without FMA; in calls of type
// double to double):
//   lx = (x-cx)*cosine - (y-cy)*sine        ly = (x-cx)*sine + (y-cy)*cosine
//   inside: |z - middle_z| <= half_z and |lx| < half_x and |ly| < half_y
//   ix = cell of (lx+half_x)/cell_x in out_x, iy = cell of (ly+half_y)/cell_y in out_y,
//   iz = cell of (z-cz)/cell_z in out_z
//   voxel = (ix*out_y + iy)*out_z + iz
// The cell of t in n is t truncated and clamped to [0, n-1]; NaN (0/0 in a flat box) gives 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/box.h"

namespace mluop::roiaware_pool3d {

enum PoolMethod { kMaximum = 0, kAverage = 1 };

constexpr int kRoiValues = roi::kBoxValues;

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

// Returns the cell of t in [0, n). Two clamps: a float cannot hold every n-1.
template <typename Real>
MLUOP_HOST_DEVICE int CellOf(Real t, int n) {
  if (!(t > Real{0})) return 0;
  const int cell = static_cast<int>(t < Real{kLargestCell} ? t : Real{kLargestCell});
  return cell < n - 1 ? cell : n - 1;
}

template <typename Real>
struct BoxOf : roi::TurnedBox<Real> {
  Real cell_x, cell_y, cell_z;

  // Returns the voxel of a point in the box; -1 outside.
  MLUOP_HOST_DEVICE int VoxelOf(const Problem& p, Real x, Real y, Real z) const {
    const auto at = this->OffsetOf(x, y);
    if (!this->Contains(at, z)) return -1;
    const int ix = CellOf((at.x + this->half_x) / cell_x, p.out_x);
    const int iy = CellOf((at.y + this->half_y) / cell_y, p.out_y);
    const int iz = CellOf((z - this->cz) / cell_z, p.out_z);
    return (ix * p.out_y + iy) * p.out_z + iz;
  }
};
using Box = BoxOf<float>;

// values: cx, cy, cz (of the bottom), dx, dy, dz, rz
template <typename Real>
MLUOP_HOST_DEVICE BoxOf<Real> MakeBox(const Problem& p, const Real* values) {
  return {roi::LoadBox(values), values[3] / static_cast<Real>(p.out_x),
          values[4] / static_cast<Real>(p.out_y), values[5] / static_cast<Real>(p.out_z)};
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
