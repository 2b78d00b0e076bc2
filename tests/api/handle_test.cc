// SPDX-License-Identifier: Apache-2.0
// Handles, enumerators, sizes of data types, error strings and the version.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

TEST(Enumerators, HaveTheValuesOfMluOps) {
  EXPECT_EQ(MLUOP_STATUS_SUCCESS, 0);
  EXPECT_EQ(MLUOP_STATUS_NOT_INITIALIZED, 1);
  EXPECT_EQ(MLUOP_STATUS_ALLOC_FAILED, 2);
  EXPECT_EQ(MLUOP_STATUS_BAD_PARAM, 3);
  EXPECT_EQ(MLUOP_STATUS_INTERNAL_ERROR, 4);
  EXPECT_EQ(MLUOP_STATUS_ARCH_MISMATCH, 5);
  EXPECT_EQ(MLUOP_STATUS_EXECUTION_FAILED, 6);
  EXPECT_EQ(MLUOP_STATUS_NOT_SUPPORTED, 7);
  EXPECT_EQ(MLUOP_STATUS_NUMERICAL_OVERFLOW, 8);
  EXPECT_EQ(MLUOP_LAYOUT_NCHW, 0);
  EXPECT_EQ(MLUOP_LAYOUT_NHWC, 1);
  EXPECT_EQ(MLUOP_LAYOUT_HWCN, 2);
  EXPECT_EQ(MLUOP_LAYOUT_NDHWC, 3);
  EXPECT_EQ(MLUOP_LAYOUT_ARRAY, 4);
  EXPECT_EQ(MLUOP_LAYOUT_NCDHW, 5);
  EXPECT_EQ(MLUOP_LAYOUT_TNC, 6);
  EXPECT_EQ(MLUOP_LAYOUT_NTC, 7);
  EXPECT_EQ(MLUOP_LAYOUT_NC, 8);
  EXPECT_EQ(MLUOP_LAYOUT_NLC, 9);
  EXPECT_EQ(MLUOP_LAYOUT_NCL, 10);
  EXPECT_EQ(MLUOP_ATOMICS_NOT_ALLOWED, 1);
  EXPECT_EQ(MLUOP_ATOMICS_ALLOWED, 2);
  EXPECT_EQ(MLUOP_POINTER_MODE_HOST, 0);
  EXPECT_EQ(MLUOP_POINTER_MODE_DEVICE, 1);
  EXPECT_EQ(MLUOP_ROUND_HALF_TO_EVEN, 0);
  EXPECT_EQ(MLUOP_ROUND_HALF_UP, 1);
  EXPECT_EQ(MLUOP_ROUND_HALF_OFF_ZERO, 2);
  EXPECT_EQ(MLUOP_DIM_MAX, 8);
}

struct TypeSize {
  mluOpDataType_t type;
  int value;
  size_t bytes;
};
constexpr TypeSize kTypes[] = {
    {MLUOP_DTYPE_HALF, 1, 2},           {MLUOP_DTYPE_FLOAT, 2, 4},
    {MLUOP_DTYPE_INT8, 3, 1},           {MLUOP_DTYPE_INT16, 4, 2},
    {MLUOP_DTYPE_INT31, 5, 4},          {MLUOP_DTYPE_INT32, 6, 4},
    {MLUOP_DTYPE_UINT8, 7, 1},          {MLUOP_DTYPE_BOOL, 8, 1},
    {MLUOP_DTYPE_INT64, 9, 8},          {MLUOP_DTYPE_UINT32, 11, 4},
    {MLUOP_DTYPE_UINT64, 12, 8},        {MLUOP_DTYPE_UINT16, 13, 2},
    {MLUOP_DTYPE_DOUBLE, 14, 8},        {MLUOP_DTYPE_COMPLEX_HALF, 15, 4},
    {MLUOP_DTYPE_COMPLEX_FLOAT, 16, 8}, {MLUOP_DTYPE_BFLOAT16, 17, 2}};

TEST(MluOpGetSizeOfDataType, ReturnsTheSizeOfEveryType) {
  for (const TypeSize& row : kTypes) {
    size_t bytes = 0;
    EXPECT_EQ(static_cast<int>(row.type), row.value);
    EXPECT_EQ(mluOpGetSizeOfDataType(row.type, &bytes), MLUOP_STATUS_SUCCESS) << row.value;
    EXPECT_EQ(bytes, row.bytes) << row.value;
  }
}

TEST(MluOpGetSizeOfDataType, UnknownTypeReturnsBadParamAndKeepsSize) {
  for (const int value : {0, 10, 18, -1, 1 << 30}) {
    size_t bytes = 77;
    EXPECT_EQ(mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(value), &bytes),
              MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(bytes, 77u);
    EXPECT_EQ(LastMessage().find("mluOpGetSizeOfDataType: data_type must be "), 0u);
  }
  EXPECT_EQ(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr), MLUOP_STATUS_BAD_PARAM);
}

TEST(MluOpGetErrorString, ReturnsTheNameOfTheStatus) {
  const char* const names[] = {"MLUOP_STATUS_SUCCESS",           "MLUOP_STATUS_NOT_INITIALIZED",
                               "MLUOP_STATUS_ALLOC_FAILED",      "MLUOP_STATUS_BAD_PARAM",
                               "MLUOP_STATUS_INTERNAL_ERROR",    "MLUOP_STATUS_ARCH_MISMATCH",
                               "MLUOP_STATUS_EXECUTION_FAILED",  "MLUOP_STATUS_NOT_SUPPORTED",
                               "MLUOP_STATUS_NUMERICAL_OVERFLOW"};
  for (int value = 0; value < 9; ++value) {
    EXPECT_STREQ(mluOpGetErrorString(static_cast<mluOpStatus_t>(value)), names[value]);
  }
}

TEST(MluOpGetErrorString, OtherValueReturnsUnknown) {
  for (const int value : {-1, 9, 10, 1000, INT32_MAX, INT32_MIN}) {
    EXPECT_STREQ(mluOpGetErrorString(static_cast<mluOpStatus_t>(value)), "MLUOP_STATUS_UNKNOWN");
  }
}

TEST(MluOpGetLibVersion, ReturnsTheVersionOfTheHeader) {
  int major = -1, minor = -1, patch = -1;
  mluOpGetLibVersion(&major, &minor, &patch);
  EXPECT_EQ(major, MLUOP_MAJOR);
  EXPECT_EQ(minor, MLUOP_MINOR);
  EXPECT_EQ(patch, MLUOP_PATCHLEVEL);
}

TEST(MluOpGetLibVersion, NullPointerIsSkipped) {
  int patch = -1;
  mluOpGetLibVersion(nullptr, nullptr, &patch);
  EXPECT_EQ(patch, MLUOP_PATCHLEVEL);
}

TEST(MluOpGetLastErrorMessage, IsEmptyOnAThreadWithoutFailures) {
  EXPECT_EQ(mluOpCreate(nullptr), MLUOP_STATUS_BAD_PARAM);
  std::string other = "not read";
  std::thread([&] { other = mluOpGetLastErrorMessage(); }).join();
  EXPECT_EQ(other, "");
}

TEST(MluOpGetLastErrorMessage, SuccessKeepsTheMessage) {
  EXPECT_EQ(mluOpCreate(nullptr), MLUOP_STATUS_BAD_PARAM);
  const Handle handle;
  EXPECT_EQ(LastMessage(), "mluOpCreate: handle must be a pointer, got NULL");
}

TEST(MluOpCreate, HandleHasDefaultQueueAndModes) {
  const Handle handle;
  int unused = 0;
  cnrtQueue_t queue = reinterpret_cast<cnrtQueue_t>(&unused);
  mluOpAtomicsMode_t atomics = MLUOP_ATOMICS_ALLOWED;
  mluOpQuantizeRoundMode_t round = MLUOP_ROUND_HALF_UP;
  EXPECT_EQ(mluOpGetQueue(handle, &queue), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetAtomicsMode(handle, &atomics), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetQuantizeRoundMode(handle, &round), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(queue, nullptr);
  EXPECT_EQ(atomics, MLUOP_ATOMICS_NOT_ALLOWED);
  EXPECT_EQ(round, MLUOP_ROUND_HALF_TO_EVEN);
}

TEST(MluOpSetQueue, QueueIsKeptUntilNullIsSet) {
  const Handle handle;
  cnrtQueue_t queue = nullptr, got = nullptr;
  ASSERT_EQ(cnrtQueueCreate(&queue), cnrtSuccess);
  EXPECT_EQ(mluOpSetQueue(handle, queue), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetQueue(handle, &got), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(got, queue);
  EXPECT_EQ(mluOpSetQueue(handle, nullptr), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetQueue(handle, &got), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(got, nullptr);
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtSuccess);
}

TEST(MluOpSetAtomicsMode, UnknownModeReturnsBadParamAndKeepsMode) {
  const Handle handle;
  mluOpAtomicsMode_t mode = MLUOP_ATOMICS_NOT_ALLOWED;
  EXPECT_EQ(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_SUCCESS);
  for (const int wrong : {0, 3, -1}) {
    EXPECT_EQ(mluOpSetAtomicsMode(handle, static_cast<mluOpAtomicsMode_t>(wrong)),
              MLUOP_STATUS_BAD_PARAM);
    EXPECT_TRUE(LastMessageHas("mluOpSetAtomicsMode: atomics_mode must be "));
  }
  EXPECT_EQ(mluOpGetAtomicsMode(handle, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_ATOMICS_ALLOWED);
}

TEST(MluOpSetQuantizeRoundMode, UnknownModeReturnsBadParamAndKeepsMode) {
  const Handle handle;
  mluOpQuantizeRoundMode_t mode = MLUOP_ROUND_HALF_TO_EVEN;
  for (const auto right :
       {MLUOP_ROUND_HALF_UP, MLUOP_ROUND_HALF_TO_EVEN, MLUOP_ROUND_HALF_OFF_ZERO}) {
    EXPECT_EQ(mluOpSetQuantizeRoundMode(handle, right), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mluOpGetQuantizeRoundMode(handle, &mode), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mode, right);
  }
  for (const int wrong : {3, -1}) {
    EXPECT_EQ(mluOpSetQuantizeRoundMode(handle, static_cast<mluOpQuantizeRoundMode_t>(wrong)),
              MLUOP_STATUS_BAD_PARAM);
  }
  EXPECT_EQ(mluOpGetQuantizeRoundMode(handle, &mode), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mode, MLUOP_ROUND_HALF_OFF_ZERO);
}

TEST(MluOpSetNumThreads, NumberOutside1To1024ReturnsBadParam) {
  const Handle handle;
  int threads = 0;
  for (const int right : {1, 2, 1024}) {
    EXPECT_EQ(mluOpSetNumThreads(handle, right), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(mluOpGetNumThreads(handle, &threads), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(threads, right);
  }
  for (const int wrong : {0, -1, 1025, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(mluOpSetNumThreads(handle, wrong), MLUOP_STATUS_BAD_PARAM);
    EXPECT_TRUE(LastMessageHas("mluOpSetNumThreads: num_threads must be ")) << LastMessage();
  }
  EXPECT_EQ(mluOpGetNumThreads(handle, &threads), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(threads, 1024);
}

TEST(MluOpSetDoubleAllowed, ValueOtherThan0Or1ReturnsBadParam) {
  const Handle handle;
  int allowed = -1;
  EXPECT_EQ(mluOpGetDoubleAllowed(handle, &allowed), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(allowed, 0);
  EXPECT_EQ(mluOpSetDoubleAllowed(handle, 1), MLUOP_STATUS_SUCCESS);
  for (const int wrong : {-1, 2}) {
    EXPECT_EQ(mluOpSetDoubleAllowed(handle, wrong), MLUOP_STATUS_BAD_PARAM);
    EXPECT_TRUE(LastMessageHas("mluOpSetDoubleAllowed: allowed must be 0 or 1, got "))
        << LastMessage();
  }
  EXPECT_EQ(mluOpGetDoubleAllowed(handle, &allowed), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(allowed, 1);
}

TEST(MluOpUpdateContextInformation, RestoresTheDefaultNumberOfThreads) {
  const Handle handle;
  int at_first = 0, later = 0;
  ASSERT_EQ(mluOpGetNumThreads(handle, &at_first), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetNumThreads(handle, at_first + 3), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpUpdateContextInformation(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetNumThreads(handle, &later), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(later, at_first);
}

TEST(HandleFunctions, NullArgumentReturnsBadParam) {
  const Handle handle;
  cnrtQueue_t queue = nullptr;
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t round;
  int threads = 0;
  EXPECT_EQ(mluOpCreate(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpDestroy(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpUpdateContextInformation(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetQueue(nullptr, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetQueue(nullptr, &queue), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetQueue(handle, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetAtomicsMode(nullptr, MLUOP_ATOMICS_ALLOWED), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetAtomicsMode(nullptr, &atomics), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetAtomicsMode(handle, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetQuantizeRoundMode(nullptr, MLUOP_ROUND_HALF_UP), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetQuantizeRoundMode(nullptr, &round), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetQuantizeRoundMode(handle, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetNumThreads(nullptr, 1), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetNumThreads(nullptr, &threads), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetDoubleAllowed(nullptr, 1), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetDoubleAllowed(nullptr, &threads), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetDoubleAllowed(handle, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpGetNumThreads(handle, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(), "mluOpGetNumThreads: num_threads must be a pointer, got NULL");
}

TEST(MluOpCreateQueueFromCudaStream, UnknownDeviceReturnsNotSupported) {
  cnrtQueue_t queue = nullptr;
  EXPECT_EQ(mluOpCreateQueueFromCudaStream(&queue, 99, nullptr), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(queue, nullptr);
  EXPECT_TRUE(LastMessageHas("got 99")) << LastMessage();
  EXPECT_EQ(mluOpCreateQueueFromCudaStream(nullptr, 0, nullptr), MLUOP_STATUS_BAD_PARAM);
}

}  // namespace
}  // namespace mluop::testing
