/* SPDX-License-Identifier: Apache-2.0 */
/* Includes each installed header and runs one operator: psamask with a 1x1 mask writes the diagonal. */
#include <mlu_op.h>
#include <mluops/extensions.h>
#include <mluops/runtime.h>
#include <stdio.h>

int main(void) {
  const int x_dims[] = {1, 1, 2, 1}, y_dims[] = {1, 1, 2, 2};
  const float x[2] = {3, 4};
  float y[4] = {-1, -1, -1, -1};
  int major = -1, minor = -1, patch = -1;
  unsigned int devices = 0;
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t x_desc, y_desc;
  if (cnrtGetDeviceCount(&devices) != cnrtSuccess || devices < 1) return 1;
  mluOpGetLibVersion(&major, &minor, &patch);
  if (major != MLUOP_MAJOR || minor != MLUOP_MINOR || patch != MLUOP_PATCHLEVEL) return 2;
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return 3;
  mluOpCreateTensorDescriptor(&x_desc);
  mluOpCreateTensorDescriptor(&y_desc);
  mluOpSetTensorDescriptor(x_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, x_dims);
  mluOpSetTensorDescriptor(y_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, y_dims);
  if (mluOpPsamaskForward(handle, MLUOP_PSAMASK_COLLECT, x_desc, x, 1, 1, y_desc, y) !=
      MLUOP_STATUS_SUCCESS) {
    fprintf(stderr, "%s\n", mluOpGetLastErrorMessage());
    return 4;
  }
  mluOpDestroyTensorDescriptor(y_desc);
  mluOpDestroyTensorDescriptor(x_desc);
  mluOpDestroy(handle);
  return y[0] == 3 && y[1] == 0 && y[2] == 0 && y[3] == 4 ? 0 : 5;
}
