// SPDX-License-Identifier: Apache-2.0
// points_in_boxes: the sizes of a call. ops/roi/box.h has the test of a point.
#pragma once

#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/box.h"

namespace mluop::points_in_boxes {

struct Problem {
  int64_t scenes, points, boxes;  // points and boxes of one scene

  MLUOP_HOST_DEVICE int64_t all_points() const { return scenes * points; }
  MLUOP_HOST_DEVICE int64_t all_boxes() const { return scenes * boxes; }
};

inline Problem MakeProblem(const Arguments& a) {
  return {a.Symbol("B"), a.Symbol("M"), a.Symbol("T")};
}

// Returns the box whose seven values start at `from`.
template <typename Real>
MLUOP_HOST_DEVICE roi::TurnedBox<Real> LoadBox(const Real* from) {
  Real values[roi::kBoxValues];
  for (int i = 0; i < roi::kBoxValues; ++i) values[i] = from[i];
  return roi::MakeTurnedBox(values);
}

}  // namespace mluop::points_in_boxes
