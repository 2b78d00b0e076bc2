// SPDX-License-Identifier: Apache-2.0
// points_in_boxes: the worked example of the README, and coordinates that float cannot distinguish.
#include <gtest/gtest.h>

#include <vector>

#include "mluops/extensions.h"
#include "tests/support/tensors.h"

namespace {

using mluop::testing::Descriptor;
using mluop::testing::Handle;

Descriptor Array(mluOpDataType_t dtype, const std::vector<int64_t>& dims) {
  return {MLUOP_LAYOUT_ARRAY, dtype, dims};
}

TEST(PointsInBoxes, WorkedExample) {
  const Handle handle;
  const float points[] = {0, 0, 0.5f, 1.5f, 0, 0.5f, 0, 0, 2};
  // The second box is the first one turned by 90 degrees.
  const float boxes[] = {0, 0, 0, 4, 2, 1, 0, 0, 0, 0, 4, 2, 1, 1.5707964f};
  int32_t first[3] = {}, all[6] = {};
  const auto points_desc = Array(MLUOP_DTYPE_FLOAT, {1, 3, 3});
  const auto boxes_desc = Array(MLUOP_DTYPE_FLOAT, {1, 2, 7});
  const auto first_desc = Array(MLUOP_DTYPE_INT32, {1, 3});
  const auto all_desc = Array(MLUOP_DTYPE_INT32, {1, 3, 2});
  ASSERT_EQ(mluOpPointsInBoxes(handle, points_desc, points, boxes_desc, boxes, first_desc, first),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpPointsInBoxesAll(handle, points_desc, points, boxes_desc, boxes, all_desc, all),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<int32_t>(first, first + 3), (std::vector<int32_t>{0, 0, -1}));
  EXPECT_EQ(std::vector<int32_t>(all, all + 6), (std::vector<int32_t>{1, 1, 1, 0, 0, 0}));
}

// In float both coordinates round to 500000.3125, and the point is in the middle of the box.
TEST(PointsInBoxes, DoubleDistinguishesUtmCoordinates) {
  const Handle handle;
  ASSERT_EQ(mluOpSetDoubleAllowed(handle, 1), MLUOP_STATUS_SUCCESS);
  const double points[] = {500000.32, 0, 0.5};
  const double boxes[] = {500000.30, 0, 0, 0.02, 1, 1, 0};
  int32_t first = 7;
  const auto points_desc = Array(MLUOP_DTYPE_DOUBLE, {1, 1, 3});
  const auto boxes_desc = Array(MLUOP_DTYPE_DOUBLE, {1, 1, 7});
  const auto first_desc = Array(MLUOP_DTYPE_INT32, {1, 1});
  ASSERT_EQ(mluOpPointsInBoxes(handle, points_desc, points, boxes_desc, boxes, first_desc, &first),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(first, -1);
}

}  // namespace
