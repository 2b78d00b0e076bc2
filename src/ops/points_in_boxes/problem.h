// SPDX-License-Identifier: Apache-2.0
// points_in_boxes: the sizes of a call. ops/roi/box.h has the test of a point.
#pragma once

#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/box.h"

namespace mluop::points_in_boxes {

using roi::LoadBox;

struct Problem {
  int64_t scenes, points, boxes;  // points and boxes of one scene

  MLUOP_HOST_DEVICE int64_t all_points() const { return scenes * points; }
  MLUOP_HOST_DEVICE int64_t all_boxes() const { return scenes * boxes; }
};

inline Problem MakeProblem(const Arguments& a) {
  return {a.Symbol("B"), a.Symbol("M"), a.Symbol("T")};
}

}  // namespace mluop::points_in_boxes
