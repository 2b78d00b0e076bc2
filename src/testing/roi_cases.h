// SPDX-License-Identifier: Apache-2.0
// The RoIs of cases: [batch, x1, y1, x2, y2] in the coordinates of the images.
#pragma once

#include <string>
#include <string_view>

#include "testing/case.h"

namespace mluop::testing {

// The choices of the option "rois". Families define "edge" and "half": ends on the border of the
// image or map, and on halves of a pixel.
inline constexpr std::string_view kRoiKinds[] = {"inside", "outside", "edge",   "half",
                                                 "point",  "bad",     "object", "one_image"};

// One axis of a RoI.
struct RoiEnds {
  double first, last;
};

// Makes the ends of a RoI on an axis of the image, `size` long. `scale` is from the image to the
// map.
using MakeRoiEnds = RoiEnds (*)(const std::string& kind, double size, double scale, Random& random);

// Fills the tensor "rois". `make_ends` serves the kinds "edge" and "half".
void GenerateRois(const Case& test_case, const Arguments& arguments, MakeRoiEnds make_ends,
                  Random& random);

}  // namespace mluop::testing
