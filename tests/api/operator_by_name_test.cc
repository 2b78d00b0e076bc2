// SPDX-License-Identifier: Apache-2.0
// Operators by name: their descriptions, calls, checks, and the parts of error messages.
#include <string>

#include "tests/support/examples.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

class OperatorByName : public OperatorFixture {
 protected:
  static mluOpOperator_t Find(const char* name) {
    mluOpOperator_t op = nullptr;
    EXPECT_EQ(mluOpFindOperator(name, &op), MLUOP_STATUS_SUCCESS);
    return op;
  }
  static mluOpErrorInfo_t LastError() {
    mluOpErrorInfo_t info = {};
    EXPECT_EQ(mluOpGetLastErrorInfo(&info), MLUOP_STATUS_SUCCESS);
    return info;
  }
};

TEST_F(OperatorByName, UnknownNameIsBadParam) {
  mluOpOperator_t op = nullptr;
  EXPECT_EQ(mluOpFindOperator(kExampleFamily, &op), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas(std::string("got ") + kExampleFamily));
  EXPECT_EQ(op, nullptr);
}

TEST_F(OperatorByName, NullArgumentsAreBadParam) {
  mluOpOperatorInfo_t info;
  size_t size = 0;
  EXPECT_EQ(mluOpFindOperator(nullptr, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpFindOperator("transpose", nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpDescribeOperator(nullptr, &info), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpDescribeOperator(Find("transpose"), nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpRunOperator(handle_, nullptr, nullptr, nullptr, nullptr, nullptr, 0),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpRunOperator(handle_, Find("transpose"), nullptr, nullptr, nullptr, nullptr, 0),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpCheckOperator(handle_, Find("transpose"), nullptr, nullptr),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetOperatorWorkspaceSize(handle_, nullptr, nullptr, nullptr, &size),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetLastErrorInfo(nullptr), MLUOP_STATUS_BAD_PARAM);
}

TEST_F(OperatorByName, NullHandleIsReportedBeforeNullArrays) {
  size_t size = 0;
  const mluOpOperator_t op = Find(kExampleOperator);
  EXPECT_EQ(mluOpRunOperator(nullptr, op, nullptr, nullptr, nullptr, nullptr, 0),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("handle")) << LastMessage();
  EXPECT_EQ(mluOpGetOperatorWorkspaceSize(nullptr, op, nullptr, nullptr, &size),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("handle")) << LastMessage();
}

TEST_F(OperatorByName, NullArrayMessageNamesTheFunction) {
  size_t size = 0;
  const mluOpOperator_t op = Find(kExampleOperator);
  EXPECT_EQ(mluOpCheckOperator(handle_, op, nullptr, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("mluOpCheckOperator: attributes")) << LastMessage();
  EXPECT_EQ(mluOpGetOperatorWorkspaceSize(handle_, op, nullptr, nullptr, &size),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("mluOpGetOperatorWorkspaceSize: attributes")) << LastMessage();
}

TEST_F(OperatorByName, DescriptionHasTheRowsOfTheTable) {
  mluOpOperatorInfo_t info;
  ASSERT_EQ(mluOpDescribeOperator(Find("border_align_forward"), &info), MLUOP_STATUS_SUCCESS);
  EXPECT_STREQ(info.name, "border_align_forward");
  EXPECT_EQ(info.takes_half, 1);
  ASSERT_EQ(info.attribute_count, 1);
  EXPECT_STREQ(info.attributes[0].name, "pool_size");
  EXPECT_EQ(info.attributes[0].is_real, 0);
  EXPECT_EQ(info.attributes[0].min, 1);
  ASSERT_EQ(info.tensor_count, 4);
  EXPECT_STREQ(info.tensors[0].name, "input");
  EXPECT_STREQ(info.tensors[0].shape, "N H W 4*C");
  EXPECT_EQ(info.tensors[0].layout, MLUOP_LAYOUT_NHWC);
  EXPECT_EQ(info.tensors[1].layout, MLUOP_LAYOUT_ARRAY);
  EXPECT_EQ(info.tensors[2].is_output, 1);
  EXPECT_EQ(info.tensors[2].dtype, MLUOP_DTYPE_INVALID);
  EXPECT_EQ(info.tensors[3].dtype, MLUOP_DTYPE_INT32);
}

TEST_F(OperatorByName, RunGivesTheResultOfTheFunction) {
  const Tensor x = Nhwc({1, 2, 2, 9}), y = Nhwc({1, 2, 2, 4}), expected = Nhwc({1, 2, 2, 4});
  for (int i = 0; i < 36; ++i) x.as<float>()[i] = static_cast<float>(i);
  const double attributes[] = {1, 3, 3};
  const mluOpTensorDescriptor_t descs[] = {x, y};
  void* const data[] = {x.data(), y.data()};
  EXPECT_EQ(mluOpRunOperator(handle_, Find(kExampleOperator), attributes, descs, data, nullptr, 0),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(RunExample(handle_, 1, x, x.data(), 3, 3, expected, expected.data()),
            MLUOP_STATUS_SUCCESS);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y.as<float>()[i], expected.as<float>()[i]);
}

TEST_F(OperatorByName, NonIntegerAttributeIsBadParam) {
  const Tensor x = Nhwc({1, 2, 2, 9}), y = Nhwc({1, 2, 2, 4});
  const mluOpTensorDescriptor_t descs[] = {x, y};
  for (const double h_mask : {2.5, 4294967299.0, -3e9}) {
    const double attributes[] = {0, h_mask, 3};
    EXPECT_EQ(mluOpCheckOperator(handle_, Find(kExampleOperator), attributes, descs),
              MLUOP_STATUS_BAD_PARAM);
    EXPECT_TRUE(LastMessageHas("h_mask must be an integer that fits in int32"));
  }
}

TEST_F(OperatorByName, WorkspaceSizeEqualsTheGetter) {
  const Tensor col = Array({4, 9}), im = Nchw({1, 4, 20, 21});
  const Tensor masks = Array({9}, MLUOP_DTYPE_INT32);
  const mluOpTensorDescriptor_t descs[] = {col, masks, masks, im};
  size_t size = 1, expected = 2;
  EXPECT_EQ(mluOpGetOperatorWorkspaceSize(handle_, Find("masked_col2im_forward_workspace"), nullptr,
                                          descs, &size),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetMaskedCol2imForwardWorkspaceSize(handle_, col, masks, masks, im, &expected),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(size, expected);
}

TEST_F(OperatorByName, ErrorInfoHasThePartsOfTheMessage) {
  const Tensor x = Nhwc({1, 2, 2, 8}), y = Nhwc({1, 2, 2, 4});
  const double attributes[] = {0, 3, 3};
  const mluOpTensorDescriptor_t descs[] = {x, y};
  EXPECT_EQ(mluOpCheckOperator(handle_, Find(kExampleOperator), attributes, descs),
            MLUOP_STATUS_BAD_PARAM);
  const mluOpErrorInfo_t shape = LastError();
  EXPECT_STREQ(shape.op, kExampleOperator);
  EXPECT_STREQ(shape.argument, "x");
  EXPECT_STREQ(shape.property, "shape");
  EXPECT_EQ(shape.index, 3);
  EXPECT_STREQ(shape.rule, "be h_mask*w_mask = 9");
  EXPECT_STREQ(shape.value, "8");
  const double wrong_type[] = {2, 3, 3};
  EXPECT_EQ(mluOpCheckOperator(handle_, Find(kExampleOperator), wrong_type, descs),
            MLUOP_STATUS_BAD_PARAM);
  const mluOpErrorInfo_t attribute = LastError();
  EXPECT_STREQ(attribute.argument, "psa_type");
  EXPECT_STREQ(attribute.property, "");
  EXPECT_EQ(attribute.index, -1);
  EXPECT_STREQ(attribute.rule, "be 0 or 1");
  EXPECT_STREQ(attribute.value, "2");
}

TEST_F(OperatorByName, ErrorInfoIsEmptyAfterAnotherFailure) {
  const Tensor x = Nhwc({1, 2, 2, 8}), y = Nhwc({1, 2, 2, 4});
  const double attributes[] = {0, 3, 3};
  const mluOpTensorDescriptor_t descs[] = {x, y};
  EXPECT_EQ(mluOpCheckOperator(handle_, Find(kExampleOperator), attributes, descs),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetNumThreads(handle_, 0), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(LastError().op, "");
}

TEST_F(OperatorByName, CheckAcceptsSizesOfEmptyInputs) {
  const Tensor rois = Array({0, 7}), pts = Array({5, 3}), features = Array({5, 2});
  const Tensor values = Array({0, 1, 1, 1, 2}), argmax = Array({0, 1, 1, 1, 2}, MLUOP_DTYPE_INT32);
  const Tensor slots = Array({0, 1, 1, 1, 4}, MLUOP_DTYPE_INT32);
  const mluOpTensorDescriptor_t descs[] = {rois, pts, features, argmax, slots, values};
  const double attributes[] = {0, 0, 5, 2, 4, 1, 1, 1};
  EXPECT_EQ(mluOpCheckOperator(handle_, Find("roiaware_pool3d_forward"), attributes, descs),
            MLUOP_STATUS_SUCCESS);
  const double no_slots[] = {0, 0, 5, 2,
                             0, 1, 1, 1};  // max_pts_each_voxel is not a dim of an input
  EXPECT_EQ(mluOpCheckOperator(handle_, Find("roiaware_pool3d_forward"), no_slots, descs),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(LastError().argument, "max_pts_each_voxel");
}

}  // namespace
}  // namespace mluop::testing
