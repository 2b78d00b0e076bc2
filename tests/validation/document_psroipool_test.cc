// SPDX-License-Identifier: Apache-2.0
// The rules of document 000 (psroipool) and of the contract for a call.
#include "tests/validation/documented_call.h"

namespace mluop::testing {
namespace {

// Document 000 3.6 (2), with the channel count that rule 13 requires.
struct PsRoiPoolForward : DocumentedCall {
  int pooled_height = 3, pooled_width = 3, group_size = 3, output_dim = 21;
  float spatial_scale = 0.0625f;
  Tensor input = Nhwc({2, 14, 14, 189}), rois = Array({493, 5}), output = Nhwc({493, 3, 3, 21}),
         mapping = Nhwc({493, 3, 3, 21}, kInt32);
  bool takes_half() const override { return false; }
  std::vector<TensorRule> Tensors() override {
    return {{"input", &input, Layout::kNhwc, "012"},
            {"rois", &rois, Layout::kAny},
            {"output", &output, Layout::kNhwc, "", true},
            {"mapping_channel", &mapping, Layout::kNhwc, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("pooled_height", &pooled_height), FixedSize("pooled_width", &pooled_width),
            PositiveReal("spatial_scale", &spatial_scale), FixedSize("group_size", &group_size),
            FixedSize("output_dim", &output_dim)};
  }
  mluOpStatus_t Call() override {
    return mluOpPsRoiPoolForward(
        HandleArgument(), pooled_height, pooled_width, spatial_scale, group_size, output_dim,
        DescArgument("input", input), DataArgument("input", input), DescArgument("rois", rois),
        DataArgument("rois", rois), workspace, workspace_size, DescArgument("output", output),
        DataArgument("output", output), DescArgument("mapping_channel", mapping),
        DataArgument("mapping_channel", mapping));
  }
  // The overload without a workspace, as in current MLU-OPS.
  mluOpStatus_t CallShortForm() {
    return mluOpPsRoiPoolForward(
        HandleArgument(), pooled_height, pooled_width, spatial_scale, group_size, output_dim,
        DescArgument("input", input), DataArgument("input", input), DescArgument("rois", rois),
        DataArgument("rois", rois), DescArgument("output", output), DataArgument("output", output),
        DescArgument("mapping_channel", mapping), DataArgument("mapping_channel", mapping));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetPsRoiPoolForwardWorkspaceSize(HandleArgument(), pooled_height, pooled_width,
                                                 output_dim, DescArgument("input", input),
                                                 DescArgument("rois", rois), Size());
  }
};

struct PsRoiPoolBackward : DocumentedCall {
  int pooled_height = 3, pooled_width = 3, output_dim = 21;
  float spatial_scale = 0.0625f;
  Tensor top_grad = Nhwc({493, 3, 3, 21}), rois = Array({493, 5}),
         mapping = Nhwc({493, 3, 3, 21}, kInt32), bottom_grad = Nhwc({2, 14, 14, 189});
  bool takes_half() const override { return false; }
  std::vector<TensorRule> Tensors() override {
    return {{"top_grad", &top_grad, Layout::kNhwc},
            {"rois", &rois, Layout::kAny},
            {"mapping_channel", &mapping, Layout::kNhwc},
            {"bottom_grad", &bottom_grad, Layout::kNhwc, "012", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("pooled_height", &pooled_height, 0),
            FixedSize("pooled_width", &pooled_width, 0),
            PositiveReal("spatial_scale", &spatial_scale), FixedSize("output_dim", &output_dim)};
  }
  mluOpStatus_t Call() override {
    return mluOpPsRoiPoolBackward(
        HandleArgument(), pooled_height, pooled_width, spatial_scale, output_dim,
        DescArgument("top_grad", top_grad), DataArgument("top_grad", top_grad),
        DescArgument("rois", rois), DataArgument("rois", rois),
        DescArgument("mapping_channel", mapping), DataArgument("mapping_channel", mapping),
        DescArgument("bottom_grad", bottom_grad), DataArgument("bottom_grad", bottom_grad));
  }
};

struct PsRoiPoolGetter : PsRoiPoolForward {
  bool is_getter() const override { return true; }
  std::vector<TensorRule> Tensors() override {
    return {{"input", &input, Layout::kNhwc, "012"}, {"rois", &rois, Layout::kAny, "0"}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("pooled_height", &pooled_height), FixedSize("pooled_width", &pooled_width),
            FixedSize("output_dim", &output_dim)};
  }
  mluOpStatus_t Call() override { return CallGetter(); }
};

INSTANTIATE_TEST_SUITE_P(
    Document000, DocumentedFunction,
    ::testing::Values(Function<PsRoiPoolForward>("psroipool_forward"),
                      Function<PsRoiPoolBackward>("psroipool_backward"),
                      Function<PsRoiPoolGetter>("psroipool_forward_workspace")),
    FunctionName);

TEST(Document000, BothNetworkShapesSucceed) {
  PsRoiPoolForward second;
  ExpectSuccess(second.Call());
  PsRoiPoolForward first;
  first.pooled_height = first.pooled_width = first.group_size = 7;
  first.output_dim = 8;
  first.spatial_scale = 1;
  first.input = Nhwc({1, 14, 14, 392});
  first.rois = Array({320, 5});
  first.output = Nhwc({320, 7, 7, 8});
  first.mapping = Nhwc({320, 7, 7, 8}, kInt32);
  ExpectSuccess(first.Call());
}

// Case (2) of the document has 198 channels, rule 13 requires 3*3*21 = 189.
TEST(Document000, CaseWith198ChannelsReturnsBadParam) {
  PsRoiPoolForward call;
  call.input = Nhwc({2, 14, 14, 198});
  ExpectBad(call.Call(), "input.shape[3]");
  EXPECT_TRUE(LastMessageHas("= 189, got 198")) << LastMessage();
}

TEST(Document000, MessageNamesTheWrongDimOrAttribute) {
  ExpectBadDims<PsRoiPoolForward>(
      {{"rois", {493, 4}, "rois.shape[1]"},
       {"output", {492, 3, 3, 21}, "output.shape[0]"},
       {"output", {493, 3, 3, 20}, "output.shape[3]"},
       {"mapping_channel", {493, 4, 3, 21}, "mapping_channel.shape[1]"}});
  ExpectBadDims<PsRoiPoolBackward>({{"bottom_grad", {2, 14, 14, 198}, "bottom_grad.shape[3]"},
                                    {"rois", {492, 5}, "rois.shape[0]"}});
  ExpectBadAttributes<PsRoiPoolForward>(
      {{"group_size", 2, "group_size"}, {"pooled_width", 2, "pooled_width"}});
  ExpectBadAttributes<PsRoiPoolBackward>({{"pooled_width", 2, "pooled_width"}});
  ExpectBadAttributes<PsRoiPoolGetter>({{"pooled_width", 2, "pooled_width"}});
}

TEST(Document000, ShortFormHasTheSameChecks) {
  PsRoiPoolForward call;
  ExpectSuccess(call.CallShortForm());
  call.output_dim = 0;
  ExpectBad(call.CallShortForm(), "output_dim");
}

TEST(Document000, EmptyInputSucceedsAndKeepsOutputs) {
  PsRoiPoolForward call;
  call.input = Nhwc({0, 14, 14, 189});
  call.output = Poisoned(MLUOP_LAYOUT_NHWC, {493, 3, 3, 21});
  call.mapping = Poisoned(MLUOP_LAYOUT_NHWC, {493, 3, 3, 21}, kInt32);
  ExpectSuccess(call.Call());
  EXPECT_TRUE(call.output.AllBytesAre(kPoison));
  EXPECT_TRUE(call.mapping.AllBytesAre(kPoison));
  call.null = {"input", "rois", "output", "mapping_channel"};
  ExpectSuccess(call.Call());
  ExpectSuccess(call.CallGetter());
  EXPECT_EQ(call.size, 0u);
}

TEST(Document000, EmptyRoisReturnBadParam) {
  PsRoiPoolForward call;
  call.rois = Array({0, 5});
  call.output = Nhwc({0, 3, 3, 21});
  call.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  ExpectBad(call.Call(), "rois");
  ExpectBad(call.CallGetter(), "rois");
  PsRoiPoolBackward backward;
  backward.rois = Array({0, 5});
  backward.top_grad = Nhwc({0, 3, 3, 21});
  backward.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  ExpectBad(backward.Call(), "rois");
}

TEST(Document000, ForwardChecksEmptyInputBeforeEmptyRois) {
  PsRoiPoolForward call;
  call.input = Nhwc({2, 0, 14, 189});
  call.rois = Array({0, 5});
  call.output = Nhwc({0, 3, 3, 21});
  call.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  ExpectSuccess(call.Call());
  ExpectSuccess(call.CallGetter());
}

TEST(Document000, BackwardChecksEmptyRoisBeforeEmptyGradient) {
  PsRoiPoolBackward call;
  call.bottom_grad = Nhwc({2, 14, 0, 189});
  ExpectSuccess(call.Call());
  call.rois = Array({0, 5});
  call.top_grad = Nhwc({0, 3, 3, 21});
  call.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  ExpectBad(call.Call(), "rois");
}

TEST(Document000, BackwardSucceedsWithPooledSizesOfZero) {
  PsRoiPoolBackward call;
  call.pooled_height = call.pooled_width = 0;
  call.top_grad = Nhwc({493, 0, 0, 21});
  call.mapping = Nhwc({493, 0, 0, 21}, kInt32);
  call.bottom_grad = Nhwc({2, 14, 14, 0});
  call.null = {"top_grad", "rois", "mapping_channel", "bottom_grad"};
  ExpectSuccess(call.Call());
}

}  // namespace
}  // namespace mluop::testing
