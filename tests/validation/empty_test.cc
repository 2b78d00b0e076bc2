// SPDX-License-Identifier: Apache-2.0
// The contract's table of empty tensors row by row, its rules where two rows match, and the limits
// on size and strides, written out by hand.
#include "tests/validation/document_expect.h"

namespace mluop::testing {
namespace {

constexpr int kPoison = 0x5a;

// An output whose bytes show whether it was written.
Tensor Poisoned(mluOpTensorLayout_t layout, std::vector<int64_t> dims,
                mluOpDataType_t type = MLUOP_DTYPE_FLOAT) {
  return Tensor(layout, type, std::move(dims), kPoison);
}

TEST(EmptyPsRoiPool, InputIsSuccessAndOutputsStay) {
  PsRoiPoolForward call;
  call.input = Nhwc({0, 14, 14, 189});
  call.output = Poisoned(MLUOP_LAYOUT_NHWC, {493, 3, 3, 21});
  call.mapping = Poisoned(MLUOP_LAYOUT_NHWC, {493, 3, 3, 21}, kInt32);
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_TRUE(call.output.AllBytesAre(kPoison));
  EXPECT_TRUE(call.mapping.AllBytesAre(kPoison));
  call.null = {"input", "rois", "output", "mapping_channel"};
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call.size, 0u);
}

TEST(EmptyPsRoiPool, RoisAreBadParam) {
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

TEST(EmptyPsRoiPool, ForwardLooksAtInputBeforeRois) {
  PsRoiPoolForward call;
  call.input = Nhwc({2, 0, 14, 189});
  call.rois = Array({0, 5});
  call.output = Nhwc({0, 3, 3, 21});
  call.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_SUCCESS) << LastMessage();
}

TEST(EmptyPsRoiPool, BackwardLooksAtRoisBeforeBottomGrad) {
  PsRoiPoolBackward call;
  call.bottom_grad = Nhwc({2, 14, 0, 189});
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  call.rois = Array({0, 5});
  call.top_grad = Nhwc({0, 3, 3, 21});
  call.mapping = Nhwc({0, 3, 3, 21}, kInt32);
  ExpectBad(call.Call(), "rois");
}

TEST(EmptyPsRoiPool, BackwardMayHavePooledSizesOfZero) {
  PsRoiPoolBackward call;
  call.pooled_height = call.pooled_width = 0;
  call.top_grad = Nhwc({493, 0, 0, 21});
  call.mapping = Nhwc({493, 0, 0, 21}, kInt32);
  call.bottom_grad = Nhwc({2, 14, 14, 0});
  call.null = {"top_grad", "rois", "mapping_channel", "bottom_grad"};
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
}

TEST(EmptyBorderAlign, AnythingIsBadParam) {
  BorderAlignForward no_rows;
  no_rows.input = Nhwc({3, 0, 10, 4});
  ExpectBad(no_rows.Call(), "input");
  BorderAlignForward no_boxes;
  no_boxes.boxes = Array({3, 0, 4});
  no_boxes.output = Nhwc({3, 0, 4, 1});
  no_boxes.argmax_idx = Nhwc({3, 0, 4, 1}, kInt32);
  ExpectBad(no_boxes.Call(), "boxes");
  BorderAlignBackward no_columns;
  no_columns.grad_input = Nhwc({3, 10, 0, 4});
  ExpectBad(no_columns.Call(), "grad_input");
  BorderAlignBackward no_channels;
  no_channels.grad_output = Nhwc({3, 5, 4, 0});
  no_channels.argmax_idx = Nhwc({3, 5, 4, 0}, kInt32);
  no_channels.grad_input = Nhwc({3, 10, 10, 0});
  ExpectBad(no_channels.Call(), "grad_output");
}

TEST(EmptyRoiaware, AnythingIsBadParam) {
  RoiawareBackward backward;
  backward.grad_in = Array({0, 6});
  ExpectBad(backward.Call(), "grad_in");
  RoiawareForward forward;
  forward.pts_num = 0;
  forward.pts = Array({0, 3});
  forward.pts_feature = Array({0, 6});
  ExpectBad(forward.Call(), "pts_num");
  ExpectBad(forward.CallGetter(), "pts");
}

TEST(EmptyPsamask, XIsSuccess) {
  for (const std::vector<int64_t>& nhw : {std::vector<int64_t>{0, 4, 5}, {2, 0, 5}, {2, 4, 0}}) {
    PsamaskForward forward;
    forward.x = Nhwc({nhw[0], nhw[1], nhw[2], 21});
    forward.y = Nhwc({nhw[0], nhw[1], nhw[2], nhw[1] * nhw[2]});
    forward.null = {"x", "y"};
    EXPECT_EQ(forward.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
    PsamaskBackward backward;
    backward.dy = Nhwc({nhw[0], nhw[1], nhw[2], nhw[1] * nhw[2]});
    backward.dx = Nhwc({nhw[0], nhw[1], nhw[2], 21});
    backward.null = {"dy", "dx"};
    EXPECT_EQ(backward.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  }
}

// H*W is 2^64 here: no dim can be that.
TEST(EmptyPsamask, ShapeIsCheckedThoughItDoesNotFitIn63Bits) {
  constexpr int64_t kLarge = int64_t{1} << 32;
  for (const int64_t wrong : {int64_t{0}, int64_t{1}, INT64_MAX}) {
    PsamaskForward call;
    call.x = Nhwc({0, kLarge, kLarge, 21});
    call.y = Nhwc({0, kLarge, kLarge, wrong});
    ExpectBad(call.Call(), "y.shape[3]");
  }
}

// The largest product that does fit is no overflow.
TEST(EmptyPsamask, DimsMayBeTheLargestNumber) {
  PsamaskForward call;
  call.x = Nhwc({0, INT64_MAX, 1, call.x.dims()[3]});
  call.y = Nhwc({0, INT64_MAX, 1, INT64_MAX});
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
}

TEST(EmptyIm2col, FeatureOrRowsAreBadParamEvenWithoutMasks) {
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

TEST(EmptyIm2col, MasksAreSuccessAndTheGetterWritesZero) {
  MaskedIm2colForward call;
  call.mask_h = Array({0}, kInt32);
  call.mask_w = Array({0}, kInt32);
  call.data_col = Array({2304, 0});
  call.null = {"feature", "mask_h_idx", "mask_w_idx", "data_col"};
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(call.size, 0u);
}

TEST(EmptyIm2col, BackwardWithoutMasksIsAllZeros) {
  MaskedIm2colBackward call;
  call.mask_h = Array({0}, kInt32);
  call.mask_w = Array({0}, kInt32);
  call.grad_col = Array({36, 0});
  call.grad_feature = Poisoned(MLUOP_LAYOUT_NCHW, {1, 4, 5, 6});
  call.null = {"mask_h_idx", "mask_w_idx", "grad_col"};
  EXPECT_EQ(call.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_TRUE(call.grad_feature.AllBytesAre(0));
}

TEST(EmptyCol2im, ImOrRowsAreBadParamEvenWithoutMasks) {
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

class Col2imWithoutMasks : public ::testing::Test {
 protected:
  Col2imWithoutMasks() {
    call_.mask_h = Array({0}, kInt32);
    call_.mask_w = Array({0}, kInt32);
    call_.col = Array({4, 0});
    call_.im = Poisoned(MLUOP_LAYOUT_NCHW, {1, 4, 5, 6});
    call_.null = {"mask_h_idx", "mask_w_idx", "col"};
  }
  MaskedCol2im call_;
};

TEST_F(Col2imWithoutMasks, IsAllZeros) {
  EXPECT_EQ(call_.Call(), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_TRUE(call_.im.AllBytesAre(0));
}

TEST_F(Col2imWithoutMasks, StillNeedsItsIm) {
  call_.null.insert("im");
  ExpectBad(call_.Call(), "im");
}

TEST_F(Col2imWithoutMasks, HasAGetterThatWritesZero) {
  EXPECT_EQ(call_.CallGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(call_.size, 0u);
}

TEST(Getters, RefuseANullOutPointer) {
  PsRoiPoolForward psroipool;
  RoiawareForward roiaware;
  MaskedIm2colForward im2col;
  MaskedCol2im col2im;
  psroipool.null = roiaware.null = im2col.null = col2im.null = {"workspace_size"};
  ExpectBad(psroipool.CallGetter(), "workspace_size");
  ExpectBad(roiaware.CallGetter(), "workspace_size");
  ExpectBad(roiaware.CallOtherGetter(), "workspace_size");
  ExpectBad(im2col.CallGetter(), "workspace_size");
  ExpectBad(col2im.CallGetter(), "workspace_size");
}

TEST(Getters, AnswerAValidQuestion) {
  PsRoiPoolForward psroipool;
  RoiawareForward roiaware;
  MaskedIm2colForward im2col;
  MaskedCol2im col2im;
  EXPECT_EQ(psroipool.CallGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(roiaware.CallGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(im2col.CallGetter(), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(col2im.CallGetter(), MLUOP_STATUS_SUCCESS);
  for (const size_t size : {psroipool.size, roiaware.size, im2col.size, col2im.size}) {
    EXPECT_NE(size, 77u);
  }
}

// A getter stops before the data, so the limit itself can be tried without 8 GiB.
TEST(ElementLimit, IsTwoToThe31) {
  MaskedCol2im call;
  call.col = Array({1, 30});
  call.im = Nchw({1, 1, 1, (int64_t{1} << 31) - 1});
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_SUCCESS) << LastMessage();
  call.im = Nchw({1, 1, 2, int64_t{1} << 30});
  EXPECT_EQ(call.CallGetter(), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_TRUE(LastMessageHas("masked_col2im_forward_workspace: im must be ")) << LastMessage();
}

}  // namespace
}  // namespace mluop::testing
