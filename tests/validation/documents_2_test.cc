// SPDX-License-Identifier: Apache-2.0
// The check list of document 002, written out by hand: a wrong table does not pass here.
#include "tests/validation/document_expect.h"

namespace mluop::testing {
namespace {

TEST(Document002, NetworkShapeIsValidInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    RoiawareBackward call;
    call.boxes_num = 2;  // of its 128
    call.out_x = call.out_y = call.out_z = 12;
    call.channels = 16;
    call.max_pts = 128;
    call.pts_idx = Array({2, 12, 12, 12, 128}, kInt32);
    call.argmax = Array({2, 12, 12, 12, 16}, kInt32);
    call.grad_out = Array({2, 12, 12, 12, 16}, type);
    call.grad_in = Array({16000, 16}, type);
    ExpectValid(call.Call());
  }
}

// The document's limit of 2048 is its chip's.
TEST(Document002, PointsPerVoxelMayBeMoreThan2048) {
  RoiawareBackward call;
  call.max_pts = 2049;
  call.pts_idx = Array({2, 3, 4, 5, 2049}, kInt32);
  ExpectValid(call.Call());
}

TEST(Document002, RefusesEachNull) {
  ExpectEachNullBad<RoiawareBackward>({"handle", "pts_idx_of_voxels_desc", "pts_idx_of_voxels",
                                       "argmax_desc", "argmax", "grad_out_desc", "grad_out",
                                       "grad_in_desc", "grad_in"});
  ExpectEachNullBad<RoiawareForward>({"handle", "rois_desc", "rois", "pts_desc", "pts",
                                      "pts_feature_desc", "pts_feature", "argmax_desc", "argmax",
                                      "pts_idx_of_voxels_desc", "pts_idx_of_voxels",
                                      "pooled_features_desc", "pooled_features"});
}

TEST(Document002, RefusesEachBrokenParameter) {
  using C = RoiawareBackward;
  ExpectEachBad<C>({
      {"pool_method", [](C& c) { c.pool_method = 2; }},
      {"pool_method", [](C& c) { c.pool_method = -1; }},
      {"boxes_num", [](C& c) { c.boxes_num = 0; }},
      {"out_x", [](C& c) { c.out_x = 0; }},
      {"out_y", [](C& c) { c.out_y = 0; }},
      {"out_z", [](C& c) { c.out_z = 0; }},
      {"channels", [](C& c) { c.channels = 0; }},
      {"max_pts_each_voxel", [](C& c) { c.max_pts = 0; }},
      {"pts_idx_of_voxels.shape[0]", [](C& c) { c.boxes_num = 3; }},
      {"pts_idx_of_voxels.shape[1]", [](C& c) { c.out_x = 4; }},
      {"pts_idx_of_voxels.shape[2]", [](C& c) { c.out_y = 5; }},
      {"pts_idx_of_voxels.shape[3]", [](C& c) { c.out_z = 6; }},
      {"pts_idx_of_voxels.shape[4]", [](C& c) { c.max_pts = 8; }},
      {"argmax.shape[4]", [](C& c) { c.channels = 7; }},
      {"grad_out.shape[0]",
       [](C& c) {
         c.grad_out = Array({1, 3, 4, 5, 6});
       }},
      {"grad_in.shape[1]",
       [](C& c) {
         c.grad_in = Array({11, 7});
       }},
      {"pts_idx_of_voxels",
       [](C& c) {
         c.pts_idx = Array({2, 3, 4, 5}, kInt32);
       }},
      {"argmax",
       [](C& c) {
         c.argmax = Array({2, 3, 4, 5}, kInt32);
       }},
      {"grad_out",
       [](C& c) {
         c.grad_out = Array({2, 60, 6});
       }},
      {"grad_in",
       [](C& c) {
         c.grad_in = Array({11, 6, 1});
       }},
      {"pts_idx_of_voxels.dtype",
       [](C& c) {
         c.pts_idx = Array({2, 3, 4, 5, 7});
       }},
      {"argmax.dtype",
       [](C& c) {
         c.argmax = Array({2, 3, 4, 5, 6});
       }},
      {"grad_out.dtype",
       [](C& c) {
         c.grad_out = Array({2, 3, 4, 5, 6}, kInt32);
       }},
      {"grad_in.dtype",
       [](C& c) {
         c.grad_in = Array({11, 6}, kHalf);
       }},
  });
}

TEST(Document002, ForwardRefusesEachBrokenParameter) {
  using C = RoiawareForward;
  ExpectEachBad<C>({
      {"pool_method", [](C& c) { c.pool_method = 2; }},
      {"pts_num", [](C& c) { c.pts_num = 0; }},
      {"boxes_num", [](C& c) { c.boxes_num = 0; }},
      {"channels", [](C& c) { c.channels = 0; }},
      {"max_pts_each_voxel", [](C& c) { c.max_pts = 0; }},
      {"out_x", [](C& c) { c.out_x = 0; }},
      {"out_y", [](C& c) { c.out_y = 0; }},
      {"out_z", [](C& c) { c.out_z = 0; }},
      {"rois.shape[0]", [](C& c) { c.boxes_num = 3; }},
      {"rois.shape[1]",
       [](C& c) {
         c.rois = Array({2, 6});
       }},
      {"pts.shape[0]", [](C& c) { c.pts_num = 12; }},
      {"pts.shape[1]",
       [](C& c) {
         c.pts = Array({11, 4});
       }},
      {"pts_feature.shape[1]", [](C& c) { c.channels = 7; }},
      {"pts_idx_of_voxels.shape[4]", [](C& c) { c.max_pts = 8; }},
      {"pooled_features.shape[3]",
       [](C& c) {
         c.pooled = Array({2, 3, 4, 6, 6});
       }},
      {"pts.dtype",
       [](C& c) {
         c.pts = Array({11, 3}, kHalf);
       }},
      {"pooled_features.dtype",
       [](C& c) {
         c.pooled = Array({2, 3, 4, 5, 6}, kInt32);
       }},
  });
}

TEST(Document002, AveragePoolingNeedsNoArgmax) {
  RoiawareBackward backward;
  backward.pool_method = 1;
  ExpectValid(backward.Call());
  backward.null = {"argmax_desc", "argmax"};
  ExpectValid(backward.Call());
  RoiawareForward forward;
  forward.pool_method = 1;
  forward.null = {"argmax_desc", "argmax"};
  ExpectValid(forward.Call());
}

TEST(Document002, ArgmaxIsGivenWhollyOrNotAtAll) {
  for (const char* half : {"argmax_desc", "argmax"}) {
    RoiawareBackward backward;
    backward.pool_method = 1;
    backward.null = {half};
    ExpectBad(backward.Call(), "argmax");
    RoiawareForward forward;
    forward.pool_method = 1;
    forward.null = {half};
    ExpectBad(forward.Call(), "argmax");
  }
}

TEST(Document002, BothSpellingsAreOneFunction) {
  RoiawareForward forward;
  RoiawareBackward backward;
  ExpectValid(forward.CallOtherSpelling());
  ExpectValid(backward.CallOtherSpelling());
  EXPECT_EQ(forward.CallOtherGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_NE(forward.size, 77u);
  forward.out_z = 6;
  backward.out_z = 6;
  forward.pts = Array({12, 3});
  ExpectBad(forward.CallOtherSpelling(), "pts.shape[0]");
  ExpectBad(backward.CallOtherSpelling(), "pts_idx_of_voxels.shape[3]");
  ExpectBad(forward.CallOtherGetter(), "pts_feature.shape[0]");
}

}  // namespace
}  // namespace mluop::testing
