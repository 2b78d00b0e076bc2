/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every operator of mlu_op.h and of mluops/extensions.h on a small example. C99 and C++11. */
#include <string.h>

#include "check.h"
#include "descriptors.h"
#include "mluops/extensions.h"

static void Psamask(mluOpHandle_t handle) {
  const float x[] = {3, 4};
  float y[4], dx[2];
  Desc d[] = {Nhwc(1, 1, 2, 1), Nhwc(1, 1, 2, 2)};
  MLUOP_CHECK(mluOpPsamaskForward(handle, MLUOP_PSAMASK_COLLECT, d[0], x, 1, 1, d[1], y));
  MLUOP_CHECK(mluOpPsamaskBackward(handle, MLUOP_PSAMASK_COLLECT, d[1], y, 1, 1, d[0], dx));
  EXPECT(y[0] == 3 && y[1] == 0 && y[2] == 0 && y[3] == 4 && dx[0] == 3 && dx[1] == 4);
  Desc nchw[] = {Nchw(1, 1, 1, 2), Nchw(1, 2, 1, 2)};
  MLUOP_CHECK(mluOpPsamaskNchwForward(handle, MLUOP_PSAMASK_COLLECT, nchw[0], x, 1, 1, nchw[1], y));
  MLUOP_CHECK(
      mluOpPsamaskNchwBackward(handle, MLUOP_PSAMASK_COLLECT, nchw[1], y, 1, 1, nchw[0], dx));
  EXPECT(y[0] == 3 && y[1] == 0 && y[2] == 0 && y[3] == 4 && dx[0] == 3 && dx[1] == 4);
}

static void MaskedIm2col(mluOpHandle_t handle) {
  const float feature[] = {1, 2, 3, 4};
  const int32_t rows[] = {1}, columns[] = {0};
  float col[1], image[4], gradient[4];
  const double kernel[] = {1, 1};
  size_t size = 1, same = 2;
  mluOpOperator_t getter = NULL;
  Desc d[] = {Nchw(1, 1, 2, 2), Indices(1), Indices(1), Matrix(1, 1)};
  MLUOP_CHECK(
      mluOpGetMaskedIm2colForwardWorkspaceSize(handle, d[0], d[1], d[2], 1, 1, d[3], &size));
  MLUOP_CHECK(mluOpFindOperator("masked_im2col_forward_workspace", &getter));
  MLUOP_CHECK(mluOpGetOperatorWorkspaceSize(handle, getter, kernel, d, &same));
  EXPECT(size == same);
  MLUOP_CHECK(mluOpMaskedIm2colForward(handle, d[0], feature, d[1], rows, d[2], columns, 1, 1, 0, 0,
                                       NULL, 0, d[3], col));
  MLUOP_CHECK(mluOpMaskedIm2colBackward(handle, d[3], col, d[1], rows, d[2], columns, 1, 1, 0, 0,
                                        NULL, 0, d[0], gradient));
  MLUOP_CHECK(mluOpGetMaskedCol2imForwardWorkspaceSize(handle, d[3], d[1], d[2], d[0], &size));
  MLUOP_CHECK(
      mluOpMaskedCol2imForward(handle, d[3], col, d[1], rows, d[2], columns, 0, NULL, d[0], image));
  EXPECT(col[0] == 3 && image[2] == 3 && image[0] == 0 &&
         memcmp(image, gradient, sizeof(image)) == 0);
  col[0] = 0;
  MLUOP_CHECK(mluOpMaskedCol2imBackward(handle, d[0], image, d[1], rows, d[2], columns, d[3], col));
  EXPECT(col[0] == 3);
}

static void MaskedConv2d(mluOpHandle_t handle) {
  const float features[] = {1, 2}, mask[] = {0, 1}, weight[] = {3}, bias[] = {4};
  float output[2];
  Desc d[] = {Nchw(1, 1, 1, 2), Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 1, 2),
              Nchw(1, 1, 1, 1), Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 1, 1)};
  MLUOP_CHECK(mluOpMaskedConv2dForward(handle, 1, 1, 1, 1, 0, 0, 1, 1, d[0], features, d[1], mask,
                                       d[2], weight, d[3], bias, d[0], output));
  EXPECT(output[0] == 0 && output[1] == 10);
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
}

static void PsRoiPoolNchw(mluOpHandle_t handle) {
  const float input[] = {5, 7, 1, 1}, rois[] = {0, 0, 0, 1, 0};
  float output[1] = {0}, bottom[4];
  int32_t mapping[1] = {-1};
  Desc d[] = {Nchw(1, 1, 1, 2), Matrix(1, 5), Nchw(1, 1, 1, 1),
              Make(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_INT32, 4, 1, 1, 1, 1), Nchw(1, 1, 2, 2)};
  MLUOP_CHECK(mluOpPsRoiPoolNchwForward(handle, 1, 1, 1.0f, 1, 1, d[0], input, d[1], rois, NULL, 0,
                                        d[2], output, d[3], mapping));
  MLUOP_CHECK(mluOpPsRoiPoolNchwBackward(handle, 1, 1, 1.0f, 1, d[2], output, d[1], rois, d[3],
                                         mapping, d[0], bottom));
  EXPECT(output[0] == 6 && mapping[0] == 0 && bottom[0] == 3 && bottom[1] == 3);
  MLUOP_CHECK(
      mluOpTorchvisionPsRoiPoolForward(handle, 1, 1, 1.0f, d[4], input, d[1], rois, d[2], output));
  MLUOP_CHECK(mluOpTorchvisionPsRoiPoolBackward(handle, 1, 1, 1.0f, d[2], output, d[1], rois, d[4],
                                                bottom));
  EXPECT(output[0] == 5 && bottom[0] == 5 && bottom[1] == 0);
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
  Desc nchw[] = {Nchw(1, 4, 1, 1), Nchw(1, 1, 1, 4)};
  output[3] = gradient[3] = 0;
  MLUOP_CHECK(mluOpBorderAlignNchwForward(handle, nchw[0], input, d[1], boxes, 1, nchw[1], output,
                                          d[3], argmax));
  MLUOP_CHECK(mluOpBorderAlignNchwBackward(handle, nchw[1], output, d[1], boxes, d[3], argmax, 1,
                                           nchw[0], gradient));
  EXPECT(memcmp(output, input, sizeof(input)) == 0 && memcmp(gradient, input, sizeof(input)) == 0);
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
}

static void PointsInBoxes(mluOpHandle_t handle) {
  const float points[] = {0, 0, 1, 5, 5, 5}, boxes[] = {0, 0, 0, 2, 2, 2, 0};
  int32_t indices[2];
  Desc d[] = {Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 2, 3),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 1, 7),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 2, 1, 2),
              Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 3, 1, 2, 1)};
  MLUOP_CHECK(mluOpPointsInBoxes(handle, d[0], points, d[1], boxes, d[2], indices));
  EXPECT(indices[0] == 0 && indices[1] == -1);
  MLUOP_CHECK(mluOpPointsInBoxesAll(handle, d[0], points, d[1], boxes, d[3], indices));
  EXPECT(indices[0] == 1 && indices[1] == 0);
}

static void Transpose(mluOpHandle_t handle) {
  const float input[] = {1, 2, 3, 4};
  float output[4];
  Desc d[] = {Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, 1, 2, 2)};
  MLUOP_CHECK(mluOpTranspose(handle, d[0], input, d[0], output));
  EXPECT(output[1] == 3 && output[2] == 2);
}

int main(void) {
  mluOpHandle_t handle = NULL;
  MLUOP_CHECK(mluOpCreate(&handle));
  Psamask(handle);
  MaskedIm2col(handle);
  MaskedConv2d(handle);
  PsRoiPool(handle);
  PsRoiPoolNchw(handle);
  BorderAlign(handle);
  RoiawarePool3d(handle);
  PointsInBoxes(handle);
  Transpose(handle);
  while (made_count > 0) MLUOP_CHECK(mluOpDestroyTensorDescriptor(made[--made_count]));
  MLUOP_CHECK(mluOpDestroy(handle));
  return 0;
}
