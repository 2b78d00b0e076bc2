// SPDX-License-Identifier: Apache-2.0
// The rules of document 002 (roiaware_pool3d) and of the contract for a call.
#include "tests/validation/documented_call.h"

namespace mluop::testing {
namespace {

// Document 002 3.6, reduced to 2 boxes of 3x4x5 voxels with 7 slots, 6 channels, 11 points.
struct RoiawareForward : DocumentedCall {
  int pool_method = 0, boxes_num = 2, pts_num = 11, channels = 6, max_pts = 7, out_x = 3, out_y = 4,
      out_z = 5;
  Tensor rois = Array({2, 7}), pts = Array({11, 3}), pts_feature = Array({11, 6}),
         argmax = Array({2, 3, 4, 5, 6}, kInt32), pts_idx = Array({2, 3, 4, 5, 7}, kInt32),
         pooled = Array({2, 3, 4, 5, 6});
  std::vector<TensorRule> Tensors() override {
    return {{"rois", &rois, Layout::kAny},
            {"pts", &pts, Layout::kAny},
            {"pts_feature", &pts_feature, Layout::kAny},
            {"argmax", &argmax, Layout::kAny, "", true},
            {"pts_idx_of_voxels", &pts_idx, Layout::kAny, "", true},
            {"pooled_features", &pooled, Layout::kAny, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("pool_method", &pool_method, 0, 1),
            FixedSize("boxes_num", &boxes_num),
            FixedSize("pts_num", &pts_num),
            FixedSize("channels", &channels),
            FixedSize("max_pts_each_voxel", &max_pts),
            FixedSize("out_x", &out_x),
            FixedSize("out_y", &out_y),
            FixedSize("out_z", &out_z)};
  }
  template <typename Function>
  mluOpStatus_t CallAs(Function function) {
    return function(
        HandleArgument(), pool_method, boxes_num, pts_num, channels, DescArgument("rois", rois),
        DataArgument("rois", rois), DescArgument("pts", pts), DataArgument("pts", pts),
        DescArgument("pts_feature", pts_feature), DataArgument("pts_feature", pts_feature),
        workspace, workspace_size, max_pts, out_x, out_y, out_z, DescArgument("argmax", argmax),
        DataArgument("argmax", argmax), DescArgument("pts_idx_of_voxels", pts_idx),
        DataArgument("pts_idx_of_voxels", pts_idx), DescArgument("pooled_features", pooled),
        DataArgument("pooled_features", pooled));
  }
  mluOpStatus_t Call() override { return CallAs(mluOpRoiawarePool3dForward); }
  mluOpStatus_t CallOtherSpelling() { return CallAs(mluOpRoiAwarePool3dForward); }
  template <typename Function>
  mluOpStatus_t CallGetterAs(Function function) {
    return function(HandleArgument(), DescArgument("rois", rois), DescArgument("pts", pts),
                    DescArgument("pts_feature", pts_feature), Size());
  }
  mluOpStatus_t CallGetter() { return CallGetterAs(mluOpGetRoiawarePool3dForwardWorkspaceSize); }
  mluOpStatus_t CallOtherGetter() {
    return CallGetterAs(mluOpGetRoiAwarePool3dForwardWorkspaceSize);
  }
};

struct RoiawareBackward : DocumentedCall {
  int pool_method = 0, boxes_num = 2, channels = 6, max_pts = 7, out_x = 3, out_y = 4, out_z = 5;
  Tensor pts_idx = Array({2, 3, 4, 5, 7}, kInt32), argmax = Array({2, 3, 4, 5, 6}, kInt32),
         grad_out = Array({2, 3, 4, 5, 6}), grad_in = Array({11, 6});
  std::vector<TensorRule> Tensors() override {
    return {{"pts_idx_of_voxels", &pts_idx, Layout::kAny},
            {"argmax", &argmax, Layout::kAny},
            {"grad_out", &grad_out, Layout::kAny},
            {"grad_in", &grad_in, Layout::kAny, "0", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FreeInteger("pool_method", &pool_method, 0, 1),
            FixedSize("boxes_num", &boxes_num),
            FixedSize("out_x", &out_x),
            FixedSize("out_y", &out_y),
            FixedSize("out_z", &out_z),
            FixedSize("channels", &channels),
            FixedSize("max_pts_each_voxel", &max_pts)};
  }
  template <typename Function>
  mluOpStatus_t CallAs(Function function) {
    return function(HandleArgument(), pool_method, boxes_num, out_x, out_y, out_z, channels,
                    max_pts, DescArgument("pts_idx_of_voxels", pts_idx),
                    DataArgument("pts_idx_of_voxels", pts_idx), DescArgument("argmax", argmax),
                    DataArgument("argmax", argmax), DescArgument("grad_out", grad_out),
                    DataArgument("grad_out", grad_out), DescArgument("grad_in", grad_in),
                    DataArgument("grad_in", grad_in));
  }
  mluOpStatus_t Call() override { return CallAs(mluOpRoiawarePool3dBackward); }
  mluOpStatus_t CallOtherSpelling() { return CallAs(mluOpRoiAwarePool3dBackward); }
};

struct RoiawareGetter : RoiawareForward {
  bool is_getter() const override { return true; }
  std::vector<TensorRule> Tensors() override {
    return {{"rois", &rois, Layout::kAny, "0", false, true},
            {"pts", &pts, Layout::kAny, "", false, true},
            {"pts_feature", &pts_feature, Layout::kAny, "1"}};
  }
  std::vector<AttributeRule> Attributes() override { return {}; }
  mluOpStatus_t Call() override { return CallGetter(); }
};

INSTANTIATE_TEST_SUITE_P(
    Document002, DocumentedFunction,
    ::testing::Values(Function<RoiawareForward>("roiaware_pool3d_forward"),
                      Function<RoiawareBackward>("roiaware_pool3d_backward"),
                      Function<RoiawareGetter>("roiaware_pool3d_forward_workspace")),
    FunctionName);

TEST(Document002, NetworkShapeSucceedsInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    RoiawareBackward call;
    call.boxes_num = 2;  // the document has 128
    call.out_x = call.out_y = call.out_z = 12;
    call.channels = 16;
    call.max_pts = 128;
    call.pts_idx = Array({2, 12, 12, 12, 128}, kInt32);
    call.argmax = Array({2, 12, 12, 12, 16}, kInt32);
    call.grad_out = Array({2, 12, 12, 12, 16}, type);
    call.grad_in = Array({16000, 16}, type);
    ExpectSuccess(call.Call());
  }
}

// The document's limit of 2048 comes from its hardware; we have none.
TEST(Document002, MoreThan2048PointsPerVoxelSucceed) {
  RoiawareBackward call;
  call.max_pts = 2049;
  call.pts_idx = Array({2, 3, 4, 5, 2049}, kInt32);
  ExpectSuccess(call.Call());
}

TEST(Document002, MessageNamesTheDimThatAnAttributeContradicts) {
  ExpectBadAttributes<RoiawareBackward>({{"boxes_num", 3, "pts_idx_of_voxels.shape[0]"},
                                         {"out_x", 4, "pts_idx_of_voxels.shape[1]"},
                                         {"out_y", 5, "pts_idx_of_voxels.shape[2]"},
                                         {"out_z", 6, "pts_idx_of_voxels.shape[3]"},
                                         {"max_pts_each_voxel", 8, "pts_idx_of_voxels.shape[4]"},
                                         {"channels", 7, "argmax.shape[4]"}});
  ExpectBadAttributes<RoiawareForward>({{"boxes_num", 3, "rois.shape[0]"},
                                        {"pts_num", 12, "pts.shape[0]"},
                                        {"channels", 7, "pts_feature.shape[1]"},
                                        {"max_pts_each_voxel", 8, "pts_idx_of_voxels.shape[4]"}});
}

TEST(Document002, MessageNamesTheWrongDim) {
  ExpectBadDims<RoiawareBackward>({{"grad_out", {1, 3, 4, 5, 6}, "grad_out.shape[0]"},
                                   {"grad_in", {11, 7}, "grad_in.shape[1]"}});
  ExpectBadDims<RoiawareForward>(
      {{"rois", {2, 6}, "rois.shape[1]"},
       {"pts", {11, 4}, "pts.shape[1]"},
       {"pooled_features", {2, 3, 4, 6, 6}, "pooled_features.shape[3]"}});
}

TEST(Document002, AveragePoolingSucceedsWithoutArgmax) {
  RoiawareBackward backward;
  backward.pool_method = 1;
  ExpectSuccess(backward.Call());
  backward.null = {"argmax_desc", "argmax"};
  ExpectSuccess(backward.Call());
  RoiawareForward forward;
  forward.pool_method = 1;
  forward.null = {"argmax_desc", "argmax"};
  ExpectSuccess(forward.Call());
}

// MLU-OPS does not check argmax in forward.
TEST(Document002, ArgmaxWithOneNullIsAbsentInForwardOnly) {
  for (const char* half : {"argmax_desc", "argmax"}) {
    RoiawareBackward backward;
    backward.pool_method = 1;
    backward.null = {half};
    ExpectBad(backward.Call(), "argmax");
    RoiawareForward forward;
    forward.pool_method = 1;
    forward.null = {half};
    ExpectSuccess(forward.Call());
    forward.pool_method = 0;
    ExpectBad(forward.Call(), half);
  }
}

TEST(Document002, GetterAcceptsNullRoisAndPts) {
  RoiawareForward one_box;
  one_box.rois = Array({1, 7});
  ExpectSuccess(one_box.CallGetter());
  RoiawareForward call;
  call.null = {"rois_desc", "pts_desc"};
  ExpectSuccess(call.CallGetter());
  EXPECT_EQ(call.size, one_box.size);
  call.null = {"pts_feature_desc"};
  ExpectBad(call.CallGetter(), "pts_feature_desc");
}

TEST(Document002, GetterOfNoPointsWritesZero) {
  RoiawareForward call;
  call.pts = Array({0, 3});
  call.pts_feature = Array({0, 6});
  ExpectSuccess(call.CallGetter());
  EXPECT_EQ(call.size, 0u);
  call.null = {"pts_desc"};
  call.size = 77;
  ExpectSuccess(call.CallGetter());
  EXPECT_EQ(call.size, 0u);
  call.pts_feature = Array({11, 0});
  ExpectBad(call.CallGetter(), "pts_feature");
}

TEST(Document002, BothSpellingsAreTheSameFunction) {
  RoiawareForward forward;
  RoiawareBackward backward;
  ExpectSuccess(forward.CallOtherSpelling());
  ExpectSuccess(backward.CallOtherSpelling());
  EXPECT_EQ(forward.CallOtherGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_NE(forward.size, DocumentedCall::kNoSize);
  forward.out_z = 6;
  backward.out_z = 6;
  forward.pts = Array({12, 3});
  ExpectBad(forward.CallOtherSpelling(), "pts.shape[0]");
  ExpectBad(backward.CallOtherSpelling(), "pts_idx_of_voxels.shape[3]");
  ExpectBad(forward.CallOtherGetter(), "pts_feature.shape[0]");
}

TEST(Document002, GetterWithOtherSpellingReturnsBadParamForNullSize) {
  RoiawareForward call;
  call.null = {"workspace_size"};
  ExpectBad(call.CallOtherGetter(), "workspace_size");
}

TEST(Document002, EmptyTensorReturnsBadParam) {
  RoiawareBackward backward;
  backward.grad_in = Array({0, 6});
  ExpectBad(backward.Call(), "grad_in");
  RoiawareForward forward;
  forward.pts_num = 0;
  forward.pts = Array({0, 3});
  forward.pts_feature = Array({0, 6});
  ExpectBad(forward.Call(), "pts_num");
}

}  // namespace
}  // namespace mluop::testing
