// SPDX-License-Identifier: Apache-2.0
// The rules of document 004 (masked_im2col, masked_col2im) and of the contract for a call.
#include "tests/validation/documented_call.h"

namespace mluop::testing {
namespace {

// Document 004 3.6 case 1.
struct MaskedIm2colForward : DocumentedCall {
  int kernel_h = 3, kernel_w = 3, pad_h = 1, pad_w = 1;
  Tensor feature = Nchw({1, 256, 20, 20}), mask_h = Array({200}, kInt32),
         mask_w = Array({200}, kInt32), data_col = Array({2304, 200});
  std::vector<TensorRule> Tensors() override {
    return {{"feature", &feature, Layout::kNchw, "23"},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"data_col", &data_col, Layout::kAny, "", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("kernel_h", &kernel_h), FixedSize("kernel_w", &kernel_w),
            FreeInteger("pad_h", &pad_h, INT32_MIN), FreeInteger("pad_w", &pad_w, INT32_MIN)};
  }
  mluOpStatus_t Call() override {
    return mluOpMaskedIm2colForward(
        HandleArgument(), DescArgument("feature", feature), DataArgument("feature", feature),
        DescArgument("mask_h_idx", mask_h), DataArgument("mask_h_idx", mask_h),
        DescArgument("mask_w_idx", mask_w), DataArgument("mask_w_idx", mask_w), kernel_h, kernel_w,
        pad_h, pad_w, workspace, workspace_size, DescArgument("data_col", data_col),
        DataArgument("data_col", data_col));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetMaskedIm2colForwardWorkspaceSize(
        HandleArgument(), DescArgument("feature", feature), DescArgument("mask_h_idx", mask_h),
        DescArgument("mask_w_idx", mask_w), kernel_h, kernel_w, DescArgument("data_col", data_col),
        Size());
  }
};

struct MaskedIm2colBackward : DocumentedCall {
  int kernel_h = 3, kernel_w = 3, pad_h = 1, pad_w = 1;
  Tensor grad_col = Array({36, 30}), mask_h = Array({30}, kInt32), mask_w = Array({30}, kInt32),
         grad_feature = Nchw({1, 4, 5, 6});
  std::vector<TensorRule> Tensors() override {
    return {{"grad_col", &grad_col, Layout::kAny},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"grad_feature", &grad_feature, Layout::kNchw, "23", true}};
  }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("kernel_h", &kernel_h), FixedSize("kernel_w", &kernel_w),
            FreeInteger("pad_h", &pad_h, INT32_MIN), FreeInteger("pad_w", &pad_w, INT32_MIN)};
  }
  mluOpStatus_t Call() override {
    return mluOpMaskedIm2colBackward(
        HandleArgument(), DescArgument("grad_col", grad_col), DataArgument("grad_col", grad_col),
        DescArgument("mask_h_idx", mask_h), DataArgument("mask_h_idx", mask_h),
        DescArgument("mask_w_idx", mask_w), DataArgument("mask_w_idx", mask_w), kernel_h, kernel_w,
        pad_h, pad_w, workspace, workspace_size, DescArgument("grad_feature", grad_feature),
        DataArgument("grad_feature", grad_feature));
  }
};

struct MaskedCol2im : DocumentedCall {
  Tensor col = Array({4, 30}), mask_h = Array({30}, kInt32), mask_w = Array({30}, kInt32),
         im = Nchw({1, 4, 5, 6});
  std::vector<TensorRule> Tensors() override {
    return {{"col", &col, Layout::kAny},
            {"mask_h_idx", &mask_h, Layout::kAny},
            {"mask_w_idx", &mask_w, Layout::kAny},
            {"im", &im, Layout::kNchw, "23", true}};
  }
  mluOpStatus_t Call() override {
    return mluOpMaskedCol2imForward(
        HandleArgument(), DescArgument("col", col), DataArgument("col", col),
        DescArgument("mask_h_idx", mask_h), DataArgument("mask_h_idx", mask_h),
        DescArgument("mask_w_idx", mask_w), DataArgument("mask_w_idx", mask_w), workspace_size,
        workspace, DescArgument("im", im), DataArgument("im", im));
  }
  mluOpStatus_t CallGetter() {
    return mluOpGetMaskedCol2imForwardWorkspaceSize(
        HandleArgument(), DescArgument("col", col), DescArgument("mask_h_idx", mask_h),
        DescArgument("mask_w_idx", mask_w), DescArgument("im", im), Size());
  }
};

struct MaskedIm2colGetter : MaskedIm2colForward {
  bool is_getter() const override { return true; }
  std::vector<AttributeRule> Attributes() override {
    return {FixedSize("kernel_h", &kernel_h), FixedSize("kernel_w", &kernel_w)};
  }
  mluOpStatus_t Call() override { return CallGetter(); }
};

struct MaskedCol2imGetter : MaskedCol2im {
  bool is_getter() const override { return true; }
  mluOpStatus_t Call() override { return CallGetter(); }
};

INSTANTIATE_TEST_SUITE_P(
    Document004, DocumentedFunction,
    ::testing::Values(Function<MaskedIm2colForward>("masked_im2col_forward"),
                      Function<MaskedIm2colBackward>("masked_im2col_backward"),
                      Function<MaskedCol2im>("masked_col2im_forward"),
                      Function<MaskedIm2colGetter>("masked_im2col_forward_workspace"),
                      Function<MaskedCol2imGetter>("masked_col2im_forward_workspace")),
    FunctionName);

TEST(Document004, BothNetworkShapesSucceedInFloatAndHalf) {
  for (const mluOpDataType_t type : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    MaskedIm2colForward call;
    call.feature = Nchw({1, 256, 20, 20}, type);
    call.data_col = Array({2304, 200}, type);
    ExpectSuccess(call.Call());
    call.kernel_h = call.kernel_w = 1;
    call.data_col = Array({256, 200}, type);
    ExpectSuccess(call.Call());
  }
}

TEST(Document004, MessageNamesTheWrongDim) {
  ExpectBadDims<MaskedIm2colForward>({{"feature", {2, 256, 20, 20}, "feature.shape[0]"},
                                      {"data_col", {2305, 200}, "data_col.shape[0]"},
                                      {"data_col", {2304, 201}, "data_col.shape[1]"},
                                      {"mask_w_idx", {199}, "mask_w_idx.shape[0]"}});
  ExpectBadDims<MaskedIm2colBackward>({{"grad_feature", {2, 4, 5, 6}, "grad_feature.shape[0]"},
                                       {"grad_col", {37, 30}, "grad_col.shape[0]"}});
  ExpectBadDims<MaskedCol2im>({{"im", {2, 4, 5, 6}, "im.shape[0]"},
                               {"im", {1, 5, 5, 6}, "im.shape[1]"},
                               {"mask_h_idx", {29}, "mask_h_idx.shape[0]"}});
  ExpectBadAttributes<MaskedIm2colForward>({{"kernel_h", 4, "data_col.shape[0]"}});
}

template <typename Call>
void ExpectNullWorkspaceBad() {
  Call call;
  call.workspace = nullptr;
  call.workspace_size = 1;
  ExpectBad(call.Call(), "workspace");
}

TEST(Document004, NullWorkspaceWithASizeReturnsBadParam) {
  ExpectNullWorkspaceBad<MaskedIm2colForward>();
  ExpectNullWorkspaceBad<MaskedIm2colBackward>();
  ExpectNullWorkspaceBad<MaskedCol2im>();
}

TEST(Document004, AnyPadSucceeds) {
  for (const int pad : {INT32_MIN, -1, 0, INT32_MAX}) {
    MaskedIm2colForward call;
    call.pad_h = call.pad_w = pad;
    ExpectSuccess(call.Call());
  }
}

TEST(Document004, EmptyFeatureOrRowsReturnBadParamEvenWithoutMasks) {
  for (const int64_t masks : {200, 0}) {
    MaskedIm2colForward no_pixels;
    no_pixels.feature = Nchw({1, 256, 0, 20});
    no_pixels.mask_h = Array({masks}, kInt32);
    no_pixels.mask_w = Array({masks}, kInt32);
    no_pixels.data_col = Array({2304, masks});
    ExpectBad(no_pixels.Call(), "feature");
    ExpectBad(no_pixels.CallGetter(), "feature");
    no_pixels.feature = Nchw({1, 0, 20, 20});
    no_pixels.data_col = Array({0, masks});
    EXPECT_EQ(no_pixels.Call(), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(no_pixels.CallGetter(), MLUOP_STATUS_BAD_PARAM);
  }
}

TEST(Document004, NoMasksSucceedAndGetterWritesZero) {
  MaskedIm2colForward call;
  call.mask_h = Array({0}, kInt32);
  call.mask_w = Array({0}, kInt32);
  call.data_col = Array({2304, 0});
  call.null = {"feature", "mask_h_idx", "mask_w_idx", "data_col"};
  ExpectSuccess(call.Call());
  ExpectSuccess(call.CallGetter());
  EXPECT_EQ(call.size, 0u);
}

TEST(Document004, BackwardWithoutMasksWritesZeros) {
  MaskedIm2colBackward call;
  call.mask_h = Array({0}, kInt32);
  call.mask_w = Array({0}, kInt32);
  call.grad_col = Array({36, 0});
  call.grad_feature = Poisoned(MLUOP_LAYOUT_NCHW, {1, 4, 5, 6});
  call.null = {"mask_h_idx", "mask_w_idx", "grad_col"};
  ExpectSuccess(call.Call());
  EXPECT_TRUE(call.grad_feature.AllBytesAre(0));
}

TEST(Document004, Col2imEmptyImOrRowsReturnBadParamEvenWithoutMasks) {
  for (const int64_t masks : {30, 0}) {
    MaskedCol2im call;
    call.mask_h = Array({masks}, kInt32);
    call.mask_w = Array({masks}, kInt32);
    call.col = Array({4, masks});
    call.im = Nchw({1, 4, 5, 0});
    ExpectBad(call.Call(), "im");
    ExpectBad(call.CallGetter(), "im");
    call.col = Array({0, masks});
    call.im = Nchw({1, 0, 5, 6});
    EXPECT_EQ(call.Call(), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_BAD_PARAM);
  }
}

class Document004Col2imWithoutMasks : public ::testing::Test {
 protected:
  Document004Col2imWithoutMasks() {
    call_.mask_h = Array({0}, kInt32);
    call_.mask_w = Array({0}, kInt32);
    call_.col = Array({4, 0});
    call_.im = Poisoned(MLUOP_LAYOUT_NCHW, {1, 4, 5, 6});
    call_.null = {"mask_h_idx", "mask_w_idx", "col"};
  }
  MaskedCol2im call_;
};

TEST_F(Document004Col2imWithoutMasks, WritesZeros) {
  ExpectSuccess(call_.Call());
  EXPECT_TRUE(call_.im.AllBytesAre(0));
}

TEST_F(Document004Col2imWithoutMasks, NullImReturnsBadParam) {
  call_.null.insert("im");
  ExpectBad(call_.Call(), "im");
}

TEST_F(Document004Col2imWithoutMasks, GetterWritesZero) {
  ExpectSuccess(call_.CallGetter());
  EXPECT_EQ(call_.size, 0u);
}

// The number of elements has no limit, a dim has one. A getter needs no data, so the test needs no 8 GiB.
TEST(Document004, DimOfTwoToThe31ReturnsNotSupported) {
  MaskedCol2im call;
  call.col = Array({1, 30});
  call.im = Nchw({1, 1, 2, (int64_t{1} << 31) - 1});
  ExpectSuccess(call.CallGetter());
  call.im = Nchw({1, 1, 1, int64_t{1} << 31});
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_TRUE(LastMessageHas("masked_col2im_forward_workspace: im.shape[3] must be below 2^31"))
      << LastMessage();
}

}  // namespace
}  // namespace mluop::testing
