// SPDX-License-Identifier: Apache-2.0
// Tests whether a point lies in a box that is rotated around its vertical axis, for all families
// and devices. Real is float, or double in calls of that type; every step rounds to it, without
// FMA.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace mluop::roi {

constexpr int kBoxValues = 7;

template <typename Real>
struct TurnedBox {
  Real cx, cy, cz;
  Real half_x, half_y, half_z;
  Real middle_z;
  Real cosine, sine;  // of -rz

  struct Offset {
    Real x, y;
  };

  // Returns the offset of a point from the centre, along the box's own axes.
  MLUOP_HOST_DEVICE Offset OffsetOf(Real x, Real y) const {
    const Real dx = x - cx, dy = y - cy;
    return {dx * cosine - dy * sine, dx * sine + dy * cosine};
  }
  // A NaN coordinate is outside. Branch-free, so that loops over points can be vectorised.
  MLUOP_HOST_DEVICE bool Contains(const Offset& at, Real z) const {
    const bool in_z = std::abs(z - middle_z) <= half_z;
    const bool in_x = std::abs(at.x) < half_x, in_y = std::abs(at.y) < half_y;
    return (in_z & in_x & in_y) != 0;
  }
};

// values: cx, cy, cz (of the bottom), dx, dy, dz, rz
template <typename Real>
MLUOP_HOST_DEVICE TurnedBox<Real> LoadBox(const Real* values) {
  const double turn = -values[6];  // in double: every device rounds to the same float
  return {.cx = values[0],
          .cy = values[1],
          .cz = values[2],
          .half_x = values[3] / 2,
          .half_y = values[4] / 2,
          .half_z = values[5] / 2,
          .middle_z = values[2] + values[5] / 2,
          .cosine = static_cast<Real>(std::cos(turn)),
          .sine = static_cast<Real>(std::sin(turn))};
}

}  // namespace mluop::roi
