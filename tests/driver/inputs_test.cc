// SPDX-License-Identifier: Apache-2.0
// The inputs that options of a case line generate: distributions of boxes that speed depends on.
#include <gtest/gtest.h>

#include "testing/prepared_call.h"

namespace mluop::testing {
namespace {

TEST(BorderAlignBoxes, ClippedSurroundsEveryPixelAndEndsOnTheBorders) {
  const Case parsed =
      ParseCase("border_align_backward N=2 H=60 W=80 C=1 K=4800 pool_size=1 boxes=clipped");
  const PreparedCall call(parsed, Placement::kBack);
  const float* boxes = call.arguments().In<float>("boxes");
  int at_border = 0;
  for (int box = 0; box < 2 * 4800; ++box, boxes += 4) {
    const auto x = static_cast<float>(box % 4800 % 80), y = static_cast<float>(box % 4800 / 80);
    // [first, last] on an axis of `size` pixels with the centre `at`.
    const auto check = [&](float first, float last, float at, float size) {
      EXPECT_GE(first, 0);
      EXPECT_LE(first, at);
      EXPECT_GE(last, at);
      EXPECT_LE(last, size - 1);
      if (first == 0 || last == size - 1) {
        ++at_border;
        return;
      }
      EXPECT_NEAR(first + last, 2 * at, 1e-4);
      EXPECT_GE(last - first, 4 - 1e-4);
      EXPECT_LE(last - first, 40);
    };
    check(boxes[0], boxes[2], x, 80);
    check(boxes[1], boxes[3], y, 60);
  }
  EXPECT_GT(at_border, 4800);  // of 19200 intervals
}

}  // namespace
}  // namespace mluop::testing
