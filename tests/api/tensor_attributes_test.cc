// SPDX-License-Identifier: Apache-2.0
// Tensor descriptors: NULL arguments, values other than the shape, and groups.
#include <gtest/gtest.h>

#include <climits>

#include "mlu_op.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

class TensorDescriptorArguments : public ::testing::Test {
 protected:
  static void ExpectNull(mluOpStatus_t status, const std::string& function,
                         const std::string& argument) {
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM) << function;
    EXPECT_EQ(LastMessage(), function + ": " + argument + " must be a pointer, got NULL");
  }
  const Descriptor desc_;
};

#define EXPECT_NULL(function, argument, ...) ExpectNull(function(__VA_ARGS__), #function, argument)

TEST_F(TensorDescriptorArguments, NullDescriptorReturnsBadParamInEverySetter) {
  const int dims[] = {1};
  const int64_t wide[] = {1};
  const auto nchw = MLUOP_LAYOUT_NCHW;
  const auto type = MLUOP_DTYPE_FLOAT;
  EXPECT_NULL(mluOpCreateTensorDescriptor, "desc", nullptr);
  EXPECT_NULL(mluOpDestroyTensorDescriptor, "desc", nullptr);
  EXPECT_NULL(mluOpResetTensorDescriptor, "desc", nullptr);
  EXPECT_NULL(mluOpSetTensorDescriptor, "desc", nullptr, nchw, type, 1, dims);
  EXPECT_NULL(mluOpSetTensorDescriptor_v2, "desc", nullptr, nchw, type, 1, wide);
  EXPECT_NULL(mluOpSetTensorDescriptorEx, "desc", nullptr, nchw, type, 1, dims, dims);
  EXPECT_NULL(mluOpSetTensorDescriptorEx_v2, "desc", nullptr, nchw, type, 1, wide, wide);
  EXPECT_NULL(mluOpSetTensorDescriptorDim, "desc", nullptr, 1, dims);
  EXPECT_NULL(mluOpSetTensorDescriptorDim_v2, "desc", nullptr, 1, wide);
  EXPECT_NULL(mluOpSetTensorDescriptorOnchipDataType, "desc", nullptr, type);
  EXPECT_NULL(mluOpSetTensorDescriptorPointerMode, "desc", nullptr, MLUOP_POINTER_MODE_HOST);
  EXPECT_NULL(mluOpSetTensorDescriptorPosition, "desc", nullptr, 1);
  EXPECT_NULL(mluOpSetTensorDescriptorPositionAndScale, "desc", nullptr, 1, 1.0f);
  EXPECT_NULL(mluOpSetTensorDescriptorPositionScaleAndOffset, "desc", nullptr, 1, 1.0f, 1);
}

TEST_F(TensorDescriptorArguments, NullDescriptorReturnsBadParamInEveryGetter) {
  mluOpTensorLayout_t layout;
  mluOpDataType_t type;
  mluOpPointerMode_t mode;
  int rank, dims[8], strides[8];
  int64_t wide[8], wide_strides[8];
  float scale;
  EXPECT_NULL(mluOpGetTensorDescriptor, "desc", nullptr, &layout, &type, &rank, dims);
  EXPECT_NULL(mluOpGetTensorDescriptor_v2, "desc", nullptr, &layout, &type, &rank, wide);
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "desc", nullptr, &layout, &type, &rank, dims, strides);
  EXPECT_NULL(mluOpGetTensorDescriptorEx_v2, "desc", nullptr, &layout, &type, &rank, wide,
              wide_strides);
  EXPECT_NULL(mluOpGetTensorDescriptorOnchipDataType, "desc", nullptr, &type);
  EXPECT_NULL(mluOpGetTensorDescriptorPointerMode, "desc", nullptr, &mode);
  EXPECT_NULL(mluOpGetTensorDescriptorPosition, "desc", nullptr, &rank);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionAndScale, "desc", nullptr, &rank, &scale);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionScaleAndOffset, "desc", nullptr, &rank, &scale, dims);
  EXPECT_EQ(mluOpGetTensorElementNum(nullptr), 0u);
}

TEST_F(TensorDescriptorArguments, NullOutPointerReturnsBadParamInGetEx) {
  mluOpTensorLayout_t layout;
  mluOpDataType_t type;
  int rank, d[8], s[8];
  int64_t wd[8], ws[8];
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "layout", desc_, nullptr, &type, &rank, d, s);
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "dtype", desc_, &layout, nullptr, &rank, d, s);
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "dimNb", desc_, &layout, &type, nullptr, d, s);
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "dimSize", desc_, &layout, &type, &rank, nullptr, s);
  EXPECT_NULL(mluOpGetTensorDescriptorEx, "dimStride", desc_, &layout, &type, &rank, d, nullptr);
  EXPECT_NULL(mluOpGetTensorDescriptorEx_v2, "layout", desc_, nullptr, &type, &rank, wd, ws);
  EXPECT_NULL(mluOpGetTensorDescriptorEx_v2, "dimStride", desc_, &layout, &type, &rank, wd,
              nullptr);
}

TEST_F(TensorDescriptorArguments, NullOutPointerReturnsBadParamInOtherGetters) {
  int position, offset;
  float scale;
  EXPECT_NULL(mluOpGetTensorDescriptorOnchipDataType, "onchip_dtype", desc_, nullptr);
  EXPECT_NULL(mluOpGetTensorDescriptorPointerMode, "pointer_mode", desc_, nullptr);
  EXPECT_NULL(mluOpGetTensorDescriptorPosition, "position", desc_, nullptr);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionAndScale, "position", desc_, nullptr, &scale);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionAndScale, "scale", desc_, &position, nullptr);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionScaleAndOffset, "position", desc_, nullptr, &scale,
              &offset);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionScaleAndOffset, "scale", desc_, &position, nullptr,
              &offset);
  EXPECT_NULL(mluOpGetTensorDescriptorPositionScaleAndOffset, "offset", desc_, &position, &scale,
              nullptr);
}

TEST_F(TensorDescriptorArguments, OnchipTypeIsStored) {
  mluOpDataType_t type = MLUOP_DTYPE_FLOAT;
  EXPECT_EQ(mluOpSetTensorDescriptorOnchipDataType(desc_, MLUOP_DTYPE_INT16), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpSetTensorDescriptorOnchipDataType(desc_, static_cast<mluOpDataType_t>(10)),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetTensorDescriptorOnchipDataType(desc_, &type), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(type, MLUOP_DTYPE_INT16);
}

TEST_F(TensorDescriptorArguments, PointerModeIsStored) {
  mluOpPointerMode_t mode = MLUOP_POINTER_MODE_DEVICE;
  EXPECT_EQ(mluOpSetTensorDescriptorPointerMode(desc_, MLUOP_POINTER_MODE_HOST),
            MLUOP_STATUS_SUCCESS);
  for (const int wrong : {-1, 2}) {
    EXPECT_EQ(mluOpSetTensorDescriptorPointerMode(desc_, static_cast<mluOpPointerMode_t>(wrong)),
              MLUOP_STATUS_BAD_PARAM);
  }
  EXPECT_EQ(mluOpGetTensorDescriptorPointerMode(desc_, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_POINTER_MODE_HOST);
}

TEST_F(TensorDescriptorArguments, PositionScaleAndOffsetAreStored) {
  int position = 0, offset = 0;
  float scale = 0;
  ASSERT_EQ(mluOpSetTensorDescriptorPositionScaleAndOffset(desc_, -3, 2.5f, INT_MIN),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetTensorDescriptorPositionAndScale(desc_, 4, 0.5f), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetTensorDescriptorPosition(desc_, 9), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorDescriptorPositionScaleAndOffset(desc_, &position, &scale, &offset),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(position, 9);
  EXPECT_EQ(scale, 0.5f);
  EXPECT_EQ(offset, INT_MIN);
  position = 0;
  scale = 0;
  EXPECT_EQ(mluOpGetTensorDescriptorPositionAndScale(desc_, &position, &scale),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(position, 9);
  EXPECT_EQ(scale, 0.5f);
  position = 0;
  EXPECT_EQ(mluOpGetTensorDescriptorPosition(desc_, &position), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(position, 9);
}

class TensorDescriptorGroup : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mluOpCreateGroupTensorDescriptors(group_, 3), MLUOP_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(mluOpDestroyGroupTensorDescriptors(group_, 3), MLUOP_STATUS_SUCCESS);
  }
  mluOpTensorDescriptor_t descs_[3] = {};
  mluOpTensorDescriptor_t* group_[3] = {&descs_[0], &descs_[1], &descs_[2]};
  const mluOpTensorLayout_t layouts_[3] = {MLUOP_LAYOUT_NC, MLUOP_LAYOUT_ARRAY, MLUOP_LAYOUT_NCL};
  const mluOpDataType_t types_[3] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32, MLUOP_DTYPE_FLOAT};
  const int ranks_[3] = {2, 1, 3};
};

TEST_F(TensorDescriptorGroup, SetReadsTheDimsOfAllDescriptorsInOrder) {
  const int dims[] = {2, 3, 5, 7, 11, 13};
  EXPECT_EQ(mluOpSetGroupTensorDescriptors(group_, layouts_, types_, ranks_, dims, 3),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(descs_[0]), 6u);
  EXPECT_EQ(mluOpGetTensorElementNum(descs_[1]), 5u);
  EXPECT_EQ(mluOpGetTensorElementNum(descs_[2]), 1001u);
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NCHW;
  mluOpDataType_t type = MLUOP_DTYPE_INVALID;
  mluOpGetTensorDescriptor(descs_[2], &layout, &type, nullptr, nullptr);
  EXPECT_EQ(layout, MLUOP_LAYOUT_NCL);
  EXPECT_EQ(type, MLUOP_DTYPE_FLOAT);
}

TEST_F(TensorDescriptorGroup, SetV2Stores64BitDims) {
  const int64_t dims[] = {int64_t{1} << 35, 3, 5, 7, 11, 13};
  EXPECT_EQ(mluOpSetGroupTensorDescriptors_v2(group_, layouts_, types_, ranks_, dims, 3),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(descs_[0]), size_t{3} << 35);
}

TEST_F(TensorDescriptorGroup, SetChangesNothingIfTheLastDescriptorIsWrong) {
  const int dims[] = {2, 3, 5, 7, 11, -13};
  EXPECT_EQ(mluOpSetGroupTensorDescriptors(group_, layouts_, types_, ranks_, dims, 3),
            MLUOP_STATUS_BAD_PARAM);
  for (const mluOpTensorDescriptor_t desc : descs_) EXPECT_EQ(mluOpGetTensorElementNum(desc), 0u);
}

TEST_F(TensorDescriptorGroup, MessageNamesFunctionAndDescriptor) {
  const int dims[] = {2, 3, 5, 7, 11, -13};
  mluOpSetGroupTensorDescriptors(group_, layouts_, types_, ranks_, dims, 3);
  EXPECT_EQ(
      LastMessage(),
      "mluOpSetGroupTensorDescriptors: group_desc[2]: dimSize[2] must be at least 0, got -13");
  const int64_t wide[] = {2, 3, -5, 7, 11, 13};
  mluOpSetGroupTensorDescriptors_v2(group_, layouts_, types_, ranks_, wide, 3);
  EXPECT_EQ(
      LastMessage(),
      "mluOpSetGroupTensorDescriptors_v2: group_desc[1]: dimSize[0] must be at least 0, got -5");
  mluOpTensorDescriptor_t none = nullptr;
  mluOpTensorDescriptor_t* with_none[2] = {group_[0], &none};
  const std::string rule = ": *group_desc[1] must be a descriptor, got NULL";
  mluOpSetGroupTensorDescriptors(with_none, layouts_, types_, ranks_, dims, 2);
  EXPECT_EQ(LastMessage(), "mluOpSetGroupTensorDescriptors" + rule);
  mluOpDestroyGroupTensorDescriptors(with_none, 2);
  EXPECT_EQ(LastMessage(), "mluOpDestroyGroupTensorDescriptors" + rule);
}

TEST_F(TensorDescriptorGroup, NullArgumentReturnsBadParam) {
  const int dims[] = {2, 3, 5, 7, 11, 13};
  const auto set = mluOpSetGroupTensorDescriptors;
  EXPECT_EQ(set(nullptr, layouts_, types_, ranks_, dims, 3), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("group_desc"));
  EXPECT_EQ(set(group_, nullptr, types_, ranks_, dims, 3), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("group_layout"));
  EXPECT_EQ(set(group_, layouts_, nullptr, ranks_, dims, 3), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("group_dtype"));
  EXPECT_EQ(set(group_, layouts_, types_, nullptr, dims, 3), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("group_dimNb"));
  EXPECT_EQ(set(group_, layouts_, types_, ranks_, nullptr, 3), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("group_dimSize"));
  EXPECT_EQ(set(group_, layouts_, types_, ranks_, dims, 0), MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("desc_num"));
}

TEST_F(TensorDescriptorGroup, NullEntryReturnsBadParamAndChangesNothing) {
  mluOpTensorDescriptor_t fresh = nullptr;
  mluOpTensorDescriptor_t* group[2] = {&fresh, nullptr};
  EXPECT_EQ(mluOpCreateGroupTensorDescriptors(group, 2), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(fresh, nullptr);
  mluOpTensorDescriptor_t* with_null_desc[2] = {group_[0], &fresh};
  EXPECT_EQ(mluOpDestroyGroupTensorDescriptors(with_null_desc, 2), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetTensorElementNum(descs_[0]), 0u);  // TearDown destroys it
}

TEST_F(TensorDescriptorGroup, CountBelowOneReturnsBadParam) {
  mluOpTensorDescriptor_t* group[1] = {&descs_[0]};
  for (const int count : {0, -1}) {
    EXPECT_EQ(mluOpCreateGroupTensorDescriptors(group, count), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpDestroyGroupTensorDescriptors(group, count), MLUOP_STATUS_BAD_PARAM);
  }
}

}  // namespace
}  // namespace mluop::testing
