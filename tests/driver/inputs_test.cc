// SPDX-License-Identifier: Apache-2.0
// The inputs that options of a case line generate: distributions of the data that speed depends on.
#include <gtest/gtest.h>

#include <string>

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
    const int pixel = box % 4800, row = pixel / 80;
    const auto x = static_cast<float>(pixel % 80), y = static_cast<float>(row);
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

// Of a case line without its RoIs, with three images of 40x20 pixels.
constexpr const char* kRois[] = {
    "psroipool_forward N=3 H=20 W=40 R=200 pooled_height=1 pooled_width=1 spatial_scale=1 "
    "group_size=1 output_dim=1 rois=",
    "torchvision_ps_roi_pool_forward N=3 O=1 H=20 W=40 R=200 pooled_height=1 pooled_width=1 "
    "spatial_scale=1 rois="};

TEST(Rois, ObjectCentresEveryRoi) {
  for (const char* line : kRois) {
    const Case parsed = ParseCase(std::string(line) + "object");
    const PreparedCall call(parsed, Placement::kBack);
    const float* roi = call.arguments().In<float>("rois");
    for (int r = 0; r < 200; ++r, roi += 5) {
      EXPECT_NEAR(roi[1] + roi[3] + 1, 40, 1e-4);
      EXPECT_NEAR(roi[2] + roi[4] + 1, 20, 1e-4);
    }
  }
}

TEST(Rois, OneImageUsesTheFirstImageOnly) {
  for (const char* line : kRois) {
    const Case parsed = ParseCase(std::string(line) + "one_image");
    const PreparedCall call(parsed, Placement::kBack);
    const float* rois = call.arguments().In<float>("rois");
    for (int r = 0; r < 200; ++r) EXPECT_EQ(rois[r * 5], 0);
  }
}

TEST(MaskedIm2colMasks, RowFillsOneRow) {
  const Case parsed = ParseCase("masked_col2im_forward C=1 H=9 W=13 M=200 masks=row");
  const PreparedCall call(parsed, Placement::kBack);
  for (int m = 0; m < 200; ++m) {
    EXPECT_EQ(call.arguments().In<int32_t>("mask_h_idx")[m], 4);
    EXPECT_LT(call.arguments().In<int32_t>("mask_w_idx")[m], 13);
  }
}

TEST(RoiawareScenes, SamePointsAreTheFirstPoints) {
  const Case parsed = ParseCase(
      "roiaware_pool3d_backward P=300 pool_method=0 boxes_num=9 out_x=3 out_y=4 out_z=5 channels=7 "
      "max_pts_each_voxel=9 scene=same_points");
  const PreparedCall call(parsed, Placement::kBack);
  const int32_t* slots = call.arguments().In<int32_t>("pts_idx_of_voxels");
  int voxels = 0;
  for (int voxel = 0; voxel < 9 * 60; ++voxel, slots += 9) {
    voxels += slots[0] > 0 ? 1 : 0;
    for (int k = 0; k < slots[0]; ++k) EXPECT_EQ(slots[k + 1], k);
  }
  EXPECT_GT(voxels, 50);
}

}  // namespace
}  // namespace mluop::testing
