/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors for the client that calls every operator. It destroys the descriptors in `made` at the end. */
#ifndef DESCRIPTORS_H_
#define DESCRIPTORS_H_

#include <stdarg.h>

#include "check.h"

typedef mluOpTensorDescriptor_t Desc;

static Desc made[64];
static int made_count = 0;

static Desc Make(mluOpTensorLayout_t layout, mluOpDataType_t dtype, int rank, ...) {
  int dims[MLUOP_DIM_MAX];
  Desc desc = NULL;
  va_list arguments;
  va_start(arguments, rank);
  for (int i = 0; i < rank; ++i) dims[i] = va_arg(arguments, int);
  va_end(arguments);
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor(desc, layout, dtype, rank, dims));
  made[made_count++] = desc;
  return desc;
}
static Desc Floats(mluOpTensorLayout_t layout, int n, int h, int w, int c) {
  return Make(layout, MLUOP_DTYPE_FLOAT, 4, n, h, w, c);
}
static Desc Nhwc(int n, int h, int w, int c) { return Floats(MLUOP_LAYOUT_NHWC, n, h, w, c); }
static Desc Nchw(int n, int c, int h, int w) { return Floats(MLUOP_LAYOUT_NCHW, n, c, h, w); }
static Desc Indices(int n) { return Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 1, n); }
static Desc Matrix(int rows, int columns) {
  return Make(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 2, rows, columns);
}

#endif
