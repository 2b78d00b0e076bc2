/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every function of mlu_op.h and of the CNRT part that it includes. C99 and C++11. */
#include "mlu_op.h"

#include <stdarg.h>
#include <string.h>

#define EXPECT(fact)                                             \
  do {                                                           \
    if (!(fact)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #fact); \
      exit(EXIT_FAILURE);                                        \
    }                                                            \
  } while (0)
#define MLUOP_CHECK(call) EXPECT((call) == MLUOP_STATUS_SUCCESS)

typedef mluOpTensorDescriptor_t Desc;

static Desc Make(mluOpTensorLayout_t layout, mluOpDataType_t dtype, int rank, ...) {
  int dims[MLUOP_DIM_MAX];
  Desc desc = NULL;
  va_list arguments;
  va_start(arguments, rank);
  for (int i = 0; i < rank; ++i) dims[i] = va_arg(arguments, int);
  va_end(arguments);
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor(desc, layout, dtype, rank, dims));
  return desc;
}
static Desc Floats(mluOpTensorLayout_t layout, int n, int h, int w, int c) {
  return Make(layout, MLUOP_DTYPE_FLOAT, 4, n, h, w, c);
}
static Desc Nhwc(int n, int h, int w, int c) { return Floats(MLUOP_LAYOUT_NHWC, n, h, w, c); }
static Desc Indices(int n) { return Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, n); }
static Desc Matrix(int rows, int columns) {
  return Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, rows, columns);
}

static void Destroy(Desc* descs, int count) {
  for (int i = 0; i < count; ++i) MLUOP_CHECK(mluOpDestroyTensorDescriptor(descs[i]));
}

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
  Destroy(&desc, 1);
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

static void Psamask(mluOpHandle_t handle) {
  const float x[] = {3, 4};
  float y[4], dx[2];
  Desc d[] = {Nhwc(1, 1, 2, 1), Nhwc(1, 1, 2, 2)};
  MLUOP_CHECK(mluOpPsamaskForward(handle, MLUOP_PSAMASK_COLLECT, d[0], x, 1, 1, d[1], y));
  MLUOP_CHECK(mluOpPsamaskBackward(handle, MLUOP_PSAMASK_COLLECT, d[1], y, 1, 1, d[0], dx));
  EXPECT(y[0] == 3 && y[1] == 0 && y[2] == 0 && y[3] == 4 && dx[0] == 3 && dx[1] == 4);
  Destroy(d, 2);
}

static void MaskedIm2col(mluOpHandle_t handle) {
  const float feature[] = {1, 2, 3, 4};
  const int32_t rows[] = {1}, columns[] = {0};
  float col[1], image[4], gradient[4];
  size_t size = 1;
  Desc d[] = {Floats(MLUOP_LAYOUT_NCHW, 1, 1, 2, 2), Indices(1), Indices(1), Matrix(1, 1)};
  MLUOP_CHECK(
      mluOpGetMaskedIm2colForwardWorkspaceSize(handle, d[0], d[1], d[2], 1, 1, d[3], &size));
  MLUOP_CHECK(mluOpMaskedIm2colForward(handle, d[0], feature, d[1], rows, d[2], columns, 1, 1, 0, 0,
                                       NULL, 0, d[3], col));
  MLUOP_CHECK(mluOpMaskedIm2colBackward(handle, d[3], col, d[1], rows, d[2], columns, 1, 1, 0, 0,
                                        NULL, 0, d[0], gradient));
  MLUOP_CHECK(mluOpGetMaskedCol2imForwardWorkspaceSize(handle, d[3], d[1], d[2], d[0], &size));
  MLUOP_CHECK(
      mluOpMaskedCol2imForward(handle, d[3], col, d[1], rows, d[2], columns, 0, NULL, d[0], image));
  EXPECT(col[0] == 3 && image[2] == 3 && image[0] == 0 &&
         memcmp(image, gradient, sizeof(image)) == 0);
  Destroy(d, 4);
}

static void PsRoiPool(mluOpHandle_t handle) {
  const float input[] = {5, 7}, rois[] = {0, 0, 0, 1, 0};
  float output[1] = {0}, bottom[2];
  int32_t mapping[1] = {-1};
  size_t size = 1;
  Desc d[] = {Nhwc(1, 1, 2, 1), Matrix(1, 5), Nhwc(1, 1, 1, 1),
              Make(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, 4, 1, 1, 1, 1)};
  MLUOP_CHECK(mluOpGetPsRoiPoolForwardWorkspaceSize(handle, 1, 1, 1, d[0], d[1], &size));
  MLUOP_CHECK(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, d[0], input, d[1], rois, NULL, 0,
                                    d[2], output, d[3], mapping));
  EXPECT(output[0] == 6 && mapping[0] == 0);
  output[0] = 0;
  MLUOP_CHECK(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, d[0], input, d[1], rois, d[2], output,
                                    d[3], mapping));
  MLUOP_CHECK(mluOpPsRoiPoolBackward(handle, 1, 1, 1.0f, 1, d[2], output, d[1], rois, d[3], mapping,
                                     d[0], bottom));
  EXPECT(output[0] == 6 && bottom[0] == 3 && bottom[1] == 3);
  Destroy(d, 4);
}

static void BorderAlign(mluOpHandle_t handle) {
  const float input[] = {1, 2, 3, 4}, boxes[] = {0, 0, 0, 0};
  float output[4], gradient[4];
  int32_t argmax[4];
  Desc d[] = {Nhwc(1, 1, 1, 4), Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 1, 4),
              Nhwc(1, 1, 4, 1), Make(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, 4, 1, 1, 4, 1)};
  MLUOP_CHECK(
      mluOpBorderAlignForward(handle, d[0], input, d[1], boxes, 1, d[2], output, d[3], argmax));
  MLUOP_CHECK(
      mluOpBorderAlignBackward(handle, d[2], output, d[1], boxes, d[3], argmax, 1, d[0], gradient));
  EXPECT(memcmp(output, input, sizeof(input)) == 0 && memcmp(gradient, input, sizeof(input)) == 0 &&
         argmax[3] == 0);
  Destroy(d, 4);
}

static void RoiawarePool3d(mluOpHandle_t handle) {
  const float rois[] = {0, 0, 0, 2, 2, 2, 0}, pts[] = {0, 0, 1}, feature[] = {9};
  int32_t argmax[1] = {-1}, indices[2];
  float pooled[1], gradient[1] = {0};
  size_t size = 1, other = 0;
  Desc d[] = {Matrix(1, 7),
              Matrix(1, 3),
              Matrix(1, 1),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 5, 1, 1, 1, 1, 1),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 5, 1, 1, 1, 1, 2),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 5, 1, 1, 1, 1, 1)};
  MLUOP_CHECK(mluOpGetRoiawarePool3dForwardWorkspaceSize(handle, d[0], d[1], d[2], &size));
  MLUOP_CHECK(mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle, d[0], d[1], d[2], &other));
  MLUOP_CHECK(mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle, NULL, NULL, d[2], &other));
  EXPECT(size == other);
  MLUOP_CHECK(mluOpRoiawarePool3dForward(handle, 0, 1, 1, 1, d[0], rois, d[1], pts, d[2], feature,
                                         NULL, 0, 2, 1, 1, 1, d[3], argmax, d[4], indices, d[5],
                                         pooled));
  MLUOP_CHECK(mluOpRoiawarePool3dBackward(handle, 0, 1, 1, 1, 1, 1, 2, d[4], indices, d[3], argmax,
                                          d[5], pooled, d[2], gradient));
  EXPECT(argmax[0] == 0 && indices[0] == 1 && pooled[0] == 9 && gradient[0] == 9);
  MLUOP_CHECK(mluOpRoiAwarePool3dForward(handle, 1, 1, 1, 1, d[0], rois, d[1], pts, d[2], feature,
                                         NULL, 0, 2, 1, 1, 1, d[3], NULL, d[4], indices, d[5],
                                         pooled));
  MLUOP_CHECK(mluOpRoiAwarePool3dBackward(handle, 1, 1, 1, 1, 1, 1, 2, d[4], indices, NULL, NULL,
                                          d[5], pooled, d[2], gradient));
  EXPECT(pooled[0] == 9 && gradient[0] == 9);
  Destroy(d, 6);
}

static void PointsInBoxes(mluOpHandle_t handle) {
  const float points[] = {0, 0, 1, 5, 5, 5}, boxes[] = {0, 0, 0, 2, 2, 2, 0};
  int32_t indices[2];
  Desc d[] = {Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 2, 3),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 1, 7),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 2, 1, 2)};
  MLUOP_CHECK(mluOpPointsInBoxes(handle, d[0], points, d[1], boxes, d[2], indices));
  EXPECT(indices[0] == 0 && indices[1] == -1);
  Destroy(d, 3);
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
  Psamask(handle);
  MaskedIm2col(handle);
  PsRoiPool(handle);
  BorderAlign(handle);
  RoiawarePool3d(handle);
  PointsInBoxes(handle);
  MLUOP_CHECK(mluOpDestroy(handle));
  return 0;
}
