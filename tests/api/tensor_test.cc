// SPDX-License-Identifier: Apache-2.0
// Tensor descriptors: initial state, setters and getters.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "mlu_op.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

using Dims = std::vector<int64_t>;

// The results of all getters for a descriptor.
struct State {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NCHW;
  mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
  int rank = -1;
  Dims dims = Dims(MLUOP_DIM_MAX, -9);
  Dims strides = Dims(MLUOP_DIM_MAX, -9);
  bool operator==(const State&) const = default;
};

class TensorDescriptor : public ::testing::Test {
 protected:
  State Get() const {
    State state;
    EXPECT_EQ(mluOpGetTensorDescriptorEx_v2(desc_, &state.layout, &state.dtype, &state.rank,
                                            state.dims.data(), state.strides.data()),
              MLUOP_STATUS_SUCCESS);
    state.dims.resize(state.rank);
    state.strides.resize(state.rank);
    return state;
  }

  mluOpStatus_t Set(const Dims& dims) {
    return mluOpSetTensorDescriptor_v2(desc_, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF,
                                       static_cast<int>(dims.size()), dims.data());
  }

  const Descriptor desc_;
};

TEST_F(TensorDescriptor, NewDescriptorIsAnEmptyFloatArrayInDeviceMode) {
  mluOpPointerMode_t mode = MLUOP_POINTER_MODE_HOST;
  EXPECT_EQ(mluOpGetTensorDescriptorPointerMode(desc_, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, {}, {}}));
  EXPECT_EQ(mode, MLUOP_POINTER_MODE_DEVICE);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 0u);
}

TEST_F(TensorDescriptor, NewDescriptorHasPosition0Scale1Offset0) {
  int position = 7, offset = 7;
  float scale = 7;
  EXPECT_EQ(mluOpGetTensorDescriptorPositionScaleAndOffset(desc_, &position, &scale, &offset),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(position, 0);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(offset, 0);
}

TEST_F(TensorDescriptor, ResetRestoresTheInitialState) {
  ASSERT_EQ(mluOpSetTensorDescriptorPointerMode(desc_, MLUOP_POINTER_MODE_HOST),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(Set({2, 3}), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetTensorDescriptorPosition(desc_, 5), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpResetTensorDescriptor(desc_), MLUOP_STATUS_SUCCESS);
  mluOpPointerMode_t mode = MLUOP_POINTER_MODE_HOST;
  int position = 7;
  mluOpGetTensorDescriptorPointerMode(desc_, &mode);
  mluOpGetTensorDescriptorPosition(desc_, &position);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, {}, {}}));
  EXPECT_EQ(mode, MLUOP_POINTER_MODE_DEVICE);
  EXPECT_EQ(position, 0);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 0u);
}

TEST_F(TensorDescriptor, SetStoresDimsAndPackedStrides) {
  const int dims[] = {2, 3, 4, 5};
  EXPECT_EQ(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT32, 4, dims),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT32, 4, {2, 3, 4, 5}, {60, 20, 5, 1}}));
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 120u);
}

TEST_F(TensorDescriptor, SetV2Stores64BitDims) {
  EXPECT_EQ(Set({int64_t{1} << 40, 3}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, 2, {int64_t{1} << 40, 3}, {3, 1}}));
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), size_t{3} << 40);
}

TEST_F(TensorDescriptor, SetExStoresStrides) {
  const int dims[] = {2, 3};
  const int strides[] = {-7, 0};
  EXPECT_EQ(mluOpSetTensorDescriptorEx(desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_BOOL, 2, dims, strides),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NC, MLUOP_DTYPE_BOOL, 2, {2, 3}, {-7, 0}}));
}

TEST_F(TensorDescriptor, SetExV2Stores64BitStrides) {
  const Dims dims = {2, 3};
  const Dims strides = {int64_t{1} << 50, 1};
  EXPECT_EQ(mluOpSetTensorDescriptorEx_v2(desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, 2, dims.data(),
                                          strides.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, 2, dims, strides}));
}

TEST_F(TensorDescriptor, SetDimKeepsLayoutAndTypeAndPacks) {
  ASSERT_EQ(Set({4, 5}), MLUOP_STATUS_SUCCESS);
  const int dims[] = {6, 7, 8};
  EXPECT_EQ(mluOpSetTensorDescriptorDim(desc_, 3, dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, 3, {6, 7, 8}, {56, 8, 1}}));
}

TEST_F(TensorDescriptor, SetDimV2KeepsLayoutAndTypeAndPacks) {
  ASSERT_EQ(Set({4, 5}), MLUOP_STATUS_SUCCESS);
  const Dims dims = {int64_t{1} << 33, 8};
  EXPECT_EQ(mluOpSetTensorDescriptorDim_v2(desc_, 2, dims.data()), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get(), (State{MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, 2, dims, {8, 1}}));
}

TEST_F(TensorDescriptor, EightDimsSucceed) {
  EXPECT_EQ(Set({1, 2, 3, 4, 5, 6, 7, 8}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 40320u);
}

TEST_F(TensorDescriptor, EveryLayoutAndTypeSucceeds) {
  const int dims[] = {2};
  for (int layout = 0; layout <= 10; ++layout) {
    EXPECT_EQ(mluOpSetTensorDescriptor(desc_, static_cast<mluOpTensorLayout_t>(layout),
                                       MLUOP_DTYPE_FLOAT, 1, dims),
              MLUOP_STATUS_SUCCESS)
        << layout;
  }
  for (int type = 0; type <= 17; ++type) {
    if (type == 10) continue;
    EXPECT_EQ(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_NCHW, static_cast<mluOpDataType_t>(type),
                                       1, dims),
              MLUOP_STATUS_SUCCESS)
        << type;
  }
}

TEST_F(TensorDescriptor, ProductOfDimsUpTo63BitsSucceeds) {
  EXPECT_EQ(Set({INT64_MAX}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Set({int64_t{1} << 31, (int64_t{1} << 32) - 1}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), (size_t{1} << 63) - (size_t{1} << 31));
}

TEST_F(TensorDescriptor, EmptyTensorMayHaveAnyOtherDims) {
  const Dims dims = {int64_t{1} << 40, 0, int64_t{1} << 40};
  EXPECT_EQ(Set(dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Get().dims, dims);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 0u);
}

// A failing setter does not change the descriptor and sets an error message that starts with its
// name.
class TensorDescriptorSetters : public TensorDescriptor {
 protected:
  void SetUp() override {
    ASSERT_EQ(Set({4, 5}), MLUOP_STATUS_SUCCESS);
    before_ = Get();
  }
  void ExpectBadParam(mluOpStatus_t status, const std::string& function,
                      const std::string& argument) {
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(Get(), before_);
    EXPECT_EQ(LastMessage().find(function + ": " + argument), 0u) << LastMessage();
  }
  State before_;
};

TEST_F(TensorDescriptorSetters, NineDimsReturnBadParam) {
  const Dims dims(9, 1);
  ExpectBadParam(Set(dims), "mluOpSetTensorDescriptor_v2", "dimNb");
  ExpectBadParam(mluOpSetTensorDescriptorDim_v2(desc_, 9, dims.data()),
                 "mluOpSetTensorDescriptorDim_v2", "dimNb");
}

TEST_F(TensorDescriptorSetters, NegativeRankReturnsBadParam) {
  const int dims[] = {1};
  ExpectBadParam(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_FLOAT, -1, dims),
                 "mluOpSetTensorDescriptor", "dimNb");
}

TEST_F(TensorDescriptorSetters, RankZeroInDeviceModeReturnsBadParam) {
  ExpectBadParam(Set({}), "mluOpSetTensorDescriptor_v2", "dimNb");
  ExpectBadParam(mluOpSetTensorDescriptorDim(desc_, 0, nullptr), "mluOpSetTensorDescriptorDim",
                 "dimNb");
}

TEST_F(TensorDescriptorSetters, NegativeDimReturnsBadParam) {
  ExpectBadParam(Set({2, -1}), "mluOpSetTensorDescriptor_v2", "dimSize[1]");
  const int dims[] = {INT_MIN, 0};
  ExpectBadParam(mluOpSetTensorDescriptorDim(desc_, 2, dims), "mluOpSetTensorDescriptorDim",
                 "dimSize[0]");
}

TEST_F(TensorDescriptorSetters, ProductBeyond63BitsReturnsBadParam) {
  ExpectBadParam(Set({int64_t{1} << 32, int64_t{1} << 31}), "mluOpSetTensorDescriptor_v2",
                 "dimSize");
  const int dims[] = {INT_MAX, INT_MAX, 3};
  ExpectBadParam(mluOpSetTensorDescriptorDim(desc_, 3, dims), "mluOpSetTensorDescriptorDim",
                 "dimSize");
}

TEST_F(TensorDescriptorSetters, NullDimsOrStridesReturnBadParam) {
  const int dims[] = {2};
  ExpectBadParam(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, 1, nullptr),
                 "mluOpSetTensorDescriptor", "dimSize");
  ExpectBadParam(
      mluOpSetTensorDescriptorEx(desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, 1, dims, nullptr),
      "mluOpSetTensorDescriptorEx", "dimStride");
}

TEST_F(TensorDescriptorSetters, UnknownLayoutOrTypeReturnsBadParam) {
  const int dims[] = {2};
  for (const int layout : {-1, 11, 1000}) {
    ExpectBadParam(mluOpSetTensorDescriptor(desc_, static_cast<mluOpTensorLayout_t>(layout),
                                            MLUOP_DTYPE_FLOAT, 1, dims),
                   "mluOpSetTensorDescriptor", "layout");
  }
  for (const int type : {-1, 10, 18, 1000}) {
    ExpectBadParam(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_NC,
                                            static_cast<mluOpDataType_t>(type), 1, dims),
                   "mluOpSetTensorDescriptor", "dtype");
  }
}

TEST_F(TensorDescriptor, RankZeroIsAScalarInHostModeOnly) {
  ASSERT_EQ(mluOpSetTensorDescriptorPointerMode(desc_, MLUOP_POINTER_MODE_HOST),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpSetTensorDescriptor(desc_, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 0, nullptr),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(desc_), 1u);
  EXPECT_EQ(mluOpSetTensorDescriptorPointerMode(desc_, MLUOP_POINTER_MODE_DEVICE),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_TRUE(LastMessageHas("pointer_mode")) << LastMessage();
}

TEST_F(TensorDescriptor, GetSkipsNullOutPointers) {
  ASSERT_EQ(Set({2, 3}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorDescriptor(desc_, nullptr, nullptr, nullptr, nullptr),
            MLUOP_STATUS_SUCCESS);
  int dims[2] = {};
  int rank = 0;
  EXPECT_EQ(mluOpGetTensorDescriptor(desc_, nullptr, nullptr, &rank, dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(dims[0], 2);
  EXPECT_EQ(dims[1], 3);
  int64_t wide[2] = {};
  EXPECT_EQ(mluOpGetTensorDescriptor_v2(desc_, nullptr, nullptr, nullptr, wide),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(wide[1], 3);
}

TEST_F(TensorDescriptor, GetOfADimBeyondIntReturnsBadParam) {
  ASSERT_EQ(Set({3, int64_t{INT_MAX} + 1}), MLUOP_STATUS_SUCCESS);
  int dims[2] = {-5, -5};
  int rank = -5;
  EXPECT_EQ(mluOpGetTensorDescriptor(desc_, nullptr, nullptr, &rank, dims), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(rank, -5);
  EXPECT_EQ(dims[0], -5);
  ASSERT_EQ(Set({3, INT_MAX}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorDescriptor(desc_, nullptr, nullptr, &rank, dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(dims[1], INT_MAX);
}

TEST_F(TensorDescriptor, GetExOfAStrideBeyondIntReturnsBadParam) {
  ASSERT_EQ(Set({1, 2, int64_t{1} << 30}), MLUOP_STATUS_SUCCESS);
  State state;
  int dims[3] = {}, strides[3] = {-5, -5, -5};
  EXPECT_EQ(
      mluOpGetTensorDescriptorEx(desc_, &state.layout, &state.dtype, &state.rank, dims, strides),
      MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(strides[2], -5);
}

}  // namespace
}  // namespace mluop::testing
