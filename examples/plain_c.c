/* SPDX-License-Identifier: Apache-2.0 */
/* Masked im2col on ordinary arrays: the 3x3 neighbourhoods of two pixels of a 3x4 feature become
 * the columns of a matrix. From the root of the project:
 *
 *   cc -std=c99 -Iinclude examples/plain_c.c -Lbuild -lmluops -Wl,-rpath,build -o plain_c
 */
#include <stdio.h>

#include "mlu_op.h"
#include "mluops/extensions.h"

enum { kHeight = 3, kWidth = 4, kKernel = 3, kPad = 1, kMasks = 2, kRows = kKernel * kKernel };

/* Exits with the library's error message if a call fails. */
#define CHECK(call)                                        \
  do {                                                     \
    if ((call) != MLUOP_STATUS_SUCCESS) {                  \
      fprintf(stderr, "%s\n", mluOpGetLastErrorMessage()); \
      return 1;                                            \
    }                                                      \
  } while (0)

static mluOpStatus_t Describe(mluOpTensorDescriptor_t* desc, mluOpTensorLayout_t layout,
                              mluOpDataType_t dtype, int rank, const int* dims) {
  mluOpStatus_t status = mluOpCreateTensorDescriptor(desc);
  return status != MLUOP_STATUS_SUCCESS
             ? status
             : mluOpSetTensorDescriptor(*desc, layout, dtype, rank, dims);
}

int main(void) {
  const float feature[kHeight * kWidth] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const int32_t mask_h[kMasks] = {0, 1}; /* the pixels (0,0) and (1,2), centres of the kernel */
  const int32_t mask_w[kMasks] = {0, 2};
  const float expected[kRows * kMasks] = {0, 2, 0, 3, 0, 4, 0, 6, 1, 7, 2, 8, 0, 10, 5, 11, 6, 12};
  const int feature_dims[] = {1, 1, kHeight, kWidth}, mask_dims[] = {kMasks};
  const int matrix_dims[] = {kRows, kMasks};
  float matrix[kRows * kMasks];
  int wrong = 0;
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t feature_desc, mask_desc, matrix_desc;

  CHECK(mluOpCreate(&handle));
  CHECK(Describe(&feature_desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 4, feature_dims));
  CHECK(Describe(&mask_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, mask_dims));
  CHECK(Describe(&matrix_desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, matrix_dims));
  CHECK(mluOpMaskedIm2colForward(handle, feature_desc, feature, mask_desc, mask_h, mask_desc,
                                 mask_w, kKernel, kKernel, kPad, kPad, NULL, 0, matrix_desc,
                                 matrix));
  for (int i = 0; i < kRows * kMasks; ++i) {
    printf("%4g%s", matrix[i], i % kMasks == kMasks - 1 ? "\n" : " ");
    wrong += matrix[i] != expected[i];
  }
  CHECK(mluOpDestroyTensorDescriptor(matrix_desc));
  CHECK(mluOpDestroyTensorDescriptor(mask_desc));
  CHECK(mluOpDestroyTensorDescriptor(feature_desc));
  CHECK(mluOpDestroy(handle));
  if (wrong > 0) fprintf(stderr, "%d elements are wrong\n", wrong);
  return wrong > 0;
}
