/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every function of mlu_op.h, CNRT and extensions.h that is not an operator. C99, C++11. */
#include <string.h>

#include "check.h"
#include "mluops/extensions.h"

typedef mluOpTensorDescriptor_t Desc;

static void Runtime(void) {
  unsigned int count = 0;
  int device = -1, host[2] = {7, 8};
  float us = -1, ms = -1;
  void *memory = NULL, *pinned = NULL, *nothing = NULL;
  cnrtQueue_t queue = NULL;
  cnrtNotifier_t start = NULL, end = NULL;
  CNRT_CHECK(cnrtGetDeviceCount(&count));
  CNRT_CHECK(cnrtSetDevice(0));
  CNRT_CHECK(cnrtGetDevice(&device));
  EXPECT(count >= 1 && device == 0);
  EXPECT(strcmp(cnrtGetErrorName(cnrtSuccess), "cnrtSuccess") == 0 &&
         cnrtGetErrorStr(cnrtErrorNoMem) != NULL);
  CNRT_CHECK(cnrtQueueCreate(&queue));
  CNRT_CHECK(cnrtNotifierCreate(&start));
  CNRT_CHECK(cnrtNotifierCreate(&end));
  CNRT_CHECK(cnrtMalloc(&nothing, 0));
  CNRT_CHECK(cnrtFree(nothing));
  CNRT_CHECK(cnrtMalloc(&memory, sizeof(host)));
  CNRT_CHECK(cnrtHostMalloc(&pinned, sizeof(host)));
  CNRT_CHECK(cnrtPlaceNotifier(start, queue));
  CNRT_CHECK(cnrtMemset(memory, 1, sizeof(host)));
  CNRT_CHECK(cnrtMemsetAsync(memory, 0, sizeof(host), queue));
  CNRT_CHECK(cnrtMemcpyAsync(memory, host, sizeof(int), queue, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtPlaceNotifier(end, queue));
  CNRT_CHECK(cnrtWaitNotifier(end));
  CNRT_CHECK(cnrtQueueSync(queue));
  CNRT_CHECK(cnrtSyncDevice());
  CNRT_CHECK(cnrtMemcpy(pinned, memory, sizeof(host), cnrtMemcpyDevToHost));
  EXPECT(((int*)pinned)[0] == 7 && ((int*)pinned)[1] == 0);
  CNRT_CHECK(cnrtNotifierDuration(start, end, &us));
  CNRT_CHECK(cnrtNotifierElapsedTime(start, end, &ms));
  EXPECT(us >= 0 && ms >= 0);
  CNRT_CHECK(cnrtNotifierDestroy(start));
  CNRT_CHECK(cnrtNotifierDestroy(end));
  CNRT_CHECK(cnrtQueueDestroy(queue));
  CNRT_CHECK(cnrtFree(memory));
  CNRT_CHECK(cnrtFreeHost(pinned));
  CNRT_CHECK(cnrtHostFree(NULL));
}

static void Descriptors(void) {
  const int dims[] = {2, 3}, strides[] = {3, 1};
  const int64_t wide[] = {4, 5}, wide_strides[] = {5, 1};
  int rank, got[2], got_strides[2], position, offset;
  int64_t wide_got[2], wide_got_strides[2];
  float scale;
  size_t size = 0;
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  mluOpPointerMode_t mode;
  Desc desc = NULL;
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, wide));
  MLUOP_CHECK(
      mluOpSetTensorDescriptorEx(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, dims, strides));
  MLUOP_CHECK(mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &rank, got, got_strides));
  EXPECT(layout == MLUOP_LAYOUT_NC && dtype == MLUOP_DTYPE_HALF && rank == 2 && got[1] == 3 &&
         got_strides[0] == 3);
  MLUOP_CHECK(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, wide,
                                            wide_strides));
  MLUOP_CHECK(
      mluOpGetTensorDescriptorEx_v2(desc, &layout, &dtype, &rank, wide_got, wide_got_strides));
  EXPECT(wide_got[0] == 4 && wide_got_strides[0] == 5);
  MLUOP_CHECK(mluOpSetTensorDescriptorDim(desc, 2, dims));
  MLUOP_CHECK(mluOpGetTensorDescriptor(desc, NULL, NULL, &rank, got));
  MLUOP_CHECK(mluOpSetTensorDescriptorDim_v2(desc, 2, wide));
  MLUOP_CHECK(mluOpGetTensorDescriptor_v2(desc, NULL, NULL, &rank, wide_got));
  EXPECT(got[0] == 2 && wide_got[1] == 5 && mluOpGetTensorElementNum(desc) == 20);
  MLUOP_CHECK(mluOpSetTensorDescriptorOnchipDataType(desc, MLUOP_DTYPE_INT8));
  MLUOP_CHECK(mluOpGetTensorDescriptorOnchipDataType(desc, &dtype));
  MLUOP_CHECK(mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST));
  MLUOP_CHECK(mluOpGetTensorDescriptorPointerMode(desc, &mode));
  EXPECT(dtype == MLUOP_DTYPE_INT8 && mode == MLUOP_POINTER_MODE_HOST);
  MLUOP_CHECK(mluOpSetTensorDescriptorPosition(desc, 1));
  MLUOP_CHECK(mluOpSetTensorDescriptorPositionAndScale(desc, 2, 0.5f));
  MLUOP_CHECK(mluOpSetTensorDescriptorPositionScaleAndOffset(desc, 3, 0.25f, 4));
  MLUOP_CHECK(mluOpGetTensorDescriptorPosition(desc, &position));
  MLUOP_CHECK(mluOpGetTensorDescriptorPositionAndScale(desc, &position, &scale));
  MLUOP_CHECK(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, &scale, &offset));
  EXPECT(position == 3 && scale == 0.25f && offset == 4);
  MLUOP_CHECK(mluOpResetTensorDescriptor(desc));
  EXPECT(mluOpGetTensorElementNum(desc) == 0);
  MLUOP_CHECK(mluOpGetSizeOfDataType(MLUOP_DTYPE_DOUBLE, &size));
  EXPECT(size == sizeof(double));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(desc));
}

static void GroupsAndSets(void) {
  const mluOpTensorLayout_t layouts[] = {MLUOP_LAYOUT_NC, MLUOP_LAYOUT_ARRAY};
  const mluOpDataType_t dtypes[] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32};
  const int ranks[] = {2, 1}, dims[] = {2, 3, 7}, set_dims[] = {1, 2}, first[] = {0, 0},
            second[] = {0, 1};
  const int64_t wide[] = {2, 3, 7};
  int rank, got[2], bytes;
  float buffer[13];
  void* data;
  Desc a = NULL, b = NULL, *group[] = {&a, &b};
  mluOpTensorSetDescriptor_t set = NULL;
  MLUOP_CHECK(mluOpCreateGroupTensorDescriptors(group, 2));
  MLUOP_CHECK(mluOpSetGroupTensorDescriptors(group, layouts, dtypes, ranks, dims, 2));
  MLUOP_CHECK(mluOpSetGroupTensorDescriptors_v2(group, layouts, dtypes, ranks, wide, 2));
  EXPECT(mluOpGetTensorElementNum(a) == 6 && mluOpGetTensorElementNum(b) == 7);
  MLUOP_CHECK(mluOpDestroyGroupTensorDescriptors(group, 2));
  MLUOP_CHECK(mluOpCreateTensorSetDescriptor(&set, 2, set_dims));
  MLUOP_CHECK(mluOpGetTensorSetDescriptor(set, &rank, got));
  EXPECT(rank == 2 && got[0] == 1 && got[1] == 2);
  MLUOP_CHECK(mluOpInitTensorSetMemberDescriptor(set, 2, first, MLUOP_LAYOUT_NC, MLUOP_DTYPE_FLOAT,
                                                 2, dims));
  MLUOP_CHECK(mluOpInitTensorSetMemberDescriptor(set, 2, second, MLUOP_LAYOUT_ARRAY,
                                                 MLUOP_DTYPE_FLOAT, 1, dims + 2));
  MLUOP_CHECK(mluOpInitTensorSetMemberDescriptorPositionAndScale(set, 2, second, 1, 0.5f));
  MLUOP_CHECK(mluOpGetTensorSetDescriptorSize(set, &bytes));
  MLUOP_CHECK(mluOpGetTensorAndDataFromTensorSet(set, 2, second, buffer, &b, &data));
  EXPECT(bytes == (int)sizeof(buffer) && data == buffer + 6 && mluOpGetTensorElementNum(b) == 7);
  MLUOP_CHECK(mluOpDestroyTensorSetDescriptor(set));
}

static void Recording(void) {
  char directory[64];
  size_t length = 0;
  mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  mluOpSetGenCaseMode(0);
  MLUOP_CHECK(mluOpSetGenCaseDirectory("recorded"));
  EXPECT(mluOpGetGenCaseDirectory(directory, sizeof(directory), &length, &status) == directory);
  EXPECT(status == MLUOP_STATUS_SUCCESS && strcmp(directory, "recorded") == 0);
}

static void Extensions(mluOpHandle_t handle) {
  float x[] = {3, 4}, y[4];
  const int x_dims[] = {1, 1, 2, 1}, y_dims[] = {1, 1, 2, 2};
  const double attributes[] = {0, 1, 1};
  int ordinal = -1, threads = 0, allowed = -1;
  cnrtQueue_t queue = NULL;
  mluOpOperator_t op = NULL;
  mluOpOperatorInfo_t info;
  mluOpErrorInfo_t error;
  Desc descs[2];
  void* data[] = {x, y};
  MLUOP_CHECK(mluOpSetNumThreads(handle, 2));
  MLUOP_CHECK(mluOpGetNumThreads(handle, &threads));
  MLUOP_CHECK(mluOpSetDoubleAllowed(handle, 1));
  MLUOP_CHECK(mluOpGetDoubleAllowed(handle, &allowed));
  MLUOP_CHECK(mluOpGetDeviceOrdinal("cpu", &ordinal));
  EXPECT(threads == 2 && allowed == 1 && ordinal == 0);
  EXPECT(mluOpCreateQueueFromCudaStream(&queue, 99, NULL) == MLUOP_STATUS_NOT_SUPPORTED);
  for (int i = 0; i < 2; ++i) {
    MLUOP_CHECK(mluOpCreateTensorDescriptor(&descs[i]));
    MLUOP_CHECK(mluOpSetTensorDescriptor(descs[i], MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4,
                                         i == 0 ? x_dims : y_dims));
  }
  MLUOP_CHECK(mluOpFindOperator("psamask_forward", &op));
  MLUOP_CHECK(mluOpDescribeOperator(op, &info));
  EXPECT(info.attribute_count == 3 && info.tensor_count == 2 && info.takes_half == 0);
  MLUOP_CHECK(mluOpCheckOperator(handle, op, attributes, descs));
  MLUOP_CHECK(mluOpRunOperator(handle, op, attributes, descs, data, NULL, 0));
  EXPECT(y[0] == 3 && y[1] == 0 && y[2] == 0 && y[3] == 4);
  MLUOP_CHECK(mluOpSetTensorDescriptorDim(descs[0], 1, x_dims));
  EXPECT(mluOpCheckOperator(handle, op, attributes, descs) == MLUOP_STATUS_BAD_PARAM);
  MLUOP_CHECK(mluOpGetLastErrorInfo(&error));
  EXPECT(strcmp(error.argument, "x") == 0 && strcmp(error.value, "1") == 0);
  EXPECT(strstr(mluOpGetLastErrorMessage(), "x must be a tensor of 4 dims, got 1") != NULL);
  for (int i = 0; i < 2; ++i) MLUOP_CHECK(mluOpDestroyTensorDescriptor(descs[i]));
}

int main(void) {
  int major, minor, patch;
  mluOpHandle_t handle = NULL;
  cnrtQueue_t queue = NULL;
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t round;
  mluOpGetLibVersion(&major, &minor, &patch);
  EXPECT(MLUOP_VERSION == major * 1000 + minor * 100 + patch);
  EXPECT(strcmp(mluOpGetErrorString(MLUOP_STATUS_BAD_PARAM), "MLUOP_STATUS_BAD_PARAM") == 0);
  MLUOP_CHECK(mluOpCreate(&handle));
  MLUOP_CHECK(mluOpSetQueue(handle, NULL));
  MLUOP_CHECK(mluOpGetQueue(handle, &queue));
  MLUOP_CHECK(mluOpSetAtomicsMode(handle, MLUOP_ATOMICS_ALLOWED));
  MLUOP_CHECK(mluOpGetAtomicsMode(handle, &atomics));
  MLUOP_CHECK(mluOpSetQuantizeRoundMode(handle, MLUOP_ROUND_HALF_UP));
  MLUOP_CHECK(mluOpGetQuantizeRoundMode(handle, &round));
  MLUOP_CHECK(mluOpUpdateContextInformation(handle));
  EXPECT(queue == NULL && atomics == MLUOP_ATOMICS_ALLOWED && round == MLUOP_ROUND_HALF_UP);
  Runtime();
  Descriptors();
  GroupsAndSets();
  Recording();
  Extensions(handle);
  MLUOP_CHECK(mluOpDestroy(handle));
  return 0;
}
