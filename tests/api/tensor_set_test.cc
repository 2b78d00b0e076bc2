// SPDX-License-Identifier: Apache-2.0
// Tensor sets: members in one buffer, in row-major order of their indices.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

class TensorSet : public ::testing::Test {
 protected:
  void SetUp() override {
    const int dims[] = {2, 3};
    ASSERT_EQ(mluOpCreateTensorSetDescriptor(&set_, 2, dims), MLUOP_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(mluOpDestroyTensorSetDescriptor(set_), MLUOP_STATUS_SUCCESS);
  }
  mluOpStatus_t Init(const std::vector<int>& index, mluOpDataType_t dtype,
                     const std::vector<int>& dims) {
    return mluOpInitTensorSetMemberDescriptor(set_, static_cast<int>(index.size()), index.data(),
                                              MLUOP_LAYOUT_ARRAY, dtype,
                                              static_cast<int>(dims.size()), dims.data());
  }

  mluOpTensorSetDescriptor_t set_ = nullptr;
};

TEST_F(TensorSet, GetReturnsTheDims) {
  int rank = 0, dims[2] = {};
  ASSERT_EQ(mluOpGetTensorSetDescriptor(set_, &rank, dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(dims[0], 2);
  EXPECT_EQ(dims[1], 3);
}

TEST_F(TensorSet, MembersFollowEachOtherInRowMajorOrder) {
  ASSERT_EQ(Init({0, 0}, MLUOP_DTYPE_FLOAT, {5}), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(Init({0, 2}, MLUOP_DTYPE_HALF, {3, 7}), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(Init({1, 1}, MLUOP_DTYPE_INT64, {2}), MLUOP_STATUS_SUCCESS);
  int bytes = -1;
  ASSERT_EQ(mluOpGetTensorSetDescriptorSize(set_, &bytes), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 5 * 4 + 21 * 2 + 2 * 8);
  const int offsets[2][3] = {{0, 20, 20}, {62, 62, 78}};
  const size_t counts[2][3] = {{5, 0, 21}, {0, 2, 0}};
  char buffer[78];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int index[] = {i, j};
      mluOpTensorDescriptor_t desc = nullptr;
      void* data = nullptr;
      ASSERT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, buffer, &desc, &data),
                MLUOP_STATUS_SUCCESS);
      EXPECT_EQ(data, buffer + offsets[i][j]);
      EXPECT_EQ(mluOpGetTensorElementNum(desc), counts[i][j]);
    }
  }
}

TEST_F(TensorSet, PositionAndScaleBelongToTheMember) {
  const int first[] = {0, 0}, last[] = {1, 2};
  ASSERT_EQ(mluOpInitTensorSetMemberDescriptorPositionAndScale(set_, 2, last, -3, 0.5f),
            MLUOP_STATUS_SUCCESS);
  char buffer = 0;
  void* data = nullptr;
  for (const int* index : {first, last}) {
    mluOpTensorDescriptor_t desc = nullptr;
    ASSERT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, &buffer, &desc, &data),
              MLUOP_STATUS_SUCCESS);
    int position = 77;
    float scale = 77;
    ASSERT_EQ(mluOpGetTensorDescriptorPositionAndScale(desc, &position, &scale),
              MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(position, index == last ? -3 : 0);
    EXPECT_EQ(scale, index == last ? 0.5f : 1.0f);
  }
}

TEST_F(TensorSet, WrongIndexReturnsBadParam) {
  for (const std::vector<int>& index :
       {std::vector<int>{2, 0}, {0, 3}, {-1, 0}, {0, -1}, {0}, {0, 0, 0}}) {
    EXPECT_EQ(Init(index, MLUOP_DTYPE_FLOAT, {1}), MLUOP_STATUS_BAD_PARAM);
  }
  EXPECT_EQ(Init({0, 3}, MLUOP_DTYPE_FLOAT, {1}), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(),
            "mluOpInitTensorSetMemberDescriptor: tensorIndex[1] must be in [0, 3), got 3");
}

TEST_F(TensorSet, RefusedMemberIsUnchanged) {
  ASSERT_EQ(Init({0, 0}, MLUOP_DTYPE_FLOAT, {5}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(Init({0, 0}, MLUOP_DTYPE_HALF, {-1}), MLUOP_STATUS_BAD_PARAM);
  int bytes = -1;
  ASSERT_EQ(mluOpGetTensorSetDescriptorSize(set_, &bytes), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 20);
}

TEST_F(TensorSet, SizeThatDoesNotFitInIntReturnsNotSupported) {
  ASSERT_EQ(Init({0, 0}, MLUOP_DTYPE_INT8, {INT_MAX}), MLUOP_STATUS_SUCCESS);
  int bytes = -1;
  ASSERT_EQ(mluOpGetTensorSetDescriptorSize(set_, &bytes), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, INT_MAX);
  ASSERT_EQ(Init({0, 1}, MLUOP_DTYPE_INT8, {1}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorSetDescriptorSize(set_, &bytes), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(bytes, INT_MAX);
}

TEST_F(TensorSet, OffsetThatDoesNotFitIn63BitsReturnsNotSupported) {
  const std::vector<int> huge = {1 << 30, 1 << 30, 1};  // 2^60 elements, 2^63 bytes
  ASSERT_EQ(Init({0, 0}, MLUOP_DTYPE_INT64, huge), MLUOP_STATUS_SUCCESS);
  const int second[] = {0, 1};
  char buffer = 0;
  void* data = nullptr;
  mluOpTensorDescriptor_t desc = nullptr;
  EXPECT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, second, &buffer, &desc, &data),
            MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(data, nullptr);
}

TEST_F(TensorSet, NullArgumentReturnsBadParam) {
  int rank = 0, dims[2] = {}, bytes = 0;
  const int index[] = {0, 0};
  char buffer = 0;
  void* data = nullptr;
  mluOpTensorDescriptor_t desc = nullptr;
  const mluOpStatus_t bad = MLUOP_STATUS_BAD_PARAM;
  EXPECT_EQ(mluOpCreateTensorSetDescriptor(nullptr, 2, dims), bad);
  EXPECT_EQ(mluOpCreateTensorSetDescriptor(&set_, 2, nullptr), bad);
  EXPECT_EQ(mluOpGetTensorSetDescriptor(nullptr, &rank, dims), bad);
  EXPECT_EQ(mluOpGetTensorSetDescriptor(set_, nullptr, dims), bad);
  EXPECT_EQ(mluOpGetTensorSetDescriptor(set_, &rank, nullptr), bad);
  EXPECT_EQ(mluOpDestroyTensorSetDescriptor(nullptr), bad);
  EXPECT_EQ(mluOpInitTensorSetMemberDescriptorPositionAndScale(nullptr, 2, index, 0, 1), bad);
  EXPECT_EQ(mluOpInitTensorSetMemberDescriptorPositionAndScale(set_, 2, nullptr, 0, 1), bad);
  EXPECT_EQ(mluOpGetTensorSetDescriptorSize(nullptr, &bytes), bad);
  EXPECT_EQ(mluOpGetTensorSetDescriptorSize(set_, nullptr), bad);
  EXPECT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, nullptr, &desc, &data), bad);
  EXPECT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, &buffer, nullptr, &data), bad);
  EXPECT_EQ(mluOpGetTensorAndDataFromTensorSet(set_, 2, index, &buffer, &desc, nullptr), bad);
}

TEST(CreateTensorSet, WrongDimsAreRefused) {
  const auto create = [](const std::vector<int>& dims) {
    mluOpTensorSetDescriptor_t set = nullptr;
    const mluOpStatus_t status =
        mluOpCreateTensorSetDescriptor(&set, static_cast<int>(dims.size()), dims.data());
    EXPECT_EQ(set == nullptr, status != MLUOP_STATUS_SUCCESS);
    if (set != nullptr) mluOpDestroyTensorSetDescriptor(set);
    return status;
  };
  EXPECT_EQ(create(std::vector<int>(MLUOP_DIM_MAX + 1, 1)), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(create(std::vector<int>(MLUOP_DIM_MAX, 1)), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(create({2, 0}), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(create({-1}), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(create({256, 256}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(create({65537}), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(create(std::vector<int>(MLUOP_DIM_MAX, INT_MAX)), MLUOP_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace mluop::testing
