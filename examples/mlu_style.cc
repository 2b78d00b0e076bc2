// SPDX-License-Identifier: Apache-2.0
// A program for MLU-OPS: psamask on a queue, timed with notifiers. It contains nothing specific to
// mluops. From the root of the project:
//
//   c++ -Iinclude examples/mlu_style.cc -Lbuild -lmluops -lcnrt -lcndrv -Wl,-rpath,build -o mlu_style
//
#include <cnrt.h>

#include <cstdio>
#include <vector>

#include "mlu_op.h"

#define MLUOP_CHECK(call)                                                                         \
  do {                                                                                            \
    mluOpStatus_t status = (call);                                                                \
    if (status != MLUOP_STATUS_SUCCESS) {                                                         \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, mluOpGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                                         \
    }                                                                                             \
  } while (0)

static const int N = 2, H = 5, W = 4, h_mask = 3, w_mask = 5;

// Returns the expected y[n, h, w, r*W+s] for psa_type COLLECT.
static float Expected(const std::vector<float>& x, int n, int h, int w, int r, int s) {
  const int i = r - h + (h_mask - 1) / 2, j = s - w + (w_mask - 1) / 2;
  if (i < 0 || i >= h_mask || j < 0 || j >= w_mask) return 0;
  return x[((n * H + h) * W + w) * h_mask * w_mask + i * w_mask + j];
}

static int CountWrong(const std::vector<float>& x, const std::vector<float>& y) {
  int wrong = 0;
  size_t index = 0;
  for (int n = 0; n < N; ++n)
    for (int h = 0; h < H; ++h)
      for (int w = 0; w < W; ++w)
        for (int r = 0; r < H; ++r)
          for (int s = 0; s < W; ++s) wrong += y[index++] != Expected(x, n, h, w, r, s);
  return wrong;
}

int main() {
  CNRT_CHECK(cnrtSetDevice(0));
  cnrtQueue_t queue;
  CNRT_CHECK(cnrtQueueCreate(&queue));
  mluOpHandle_t handle;
  MLUOP_CHECK(mluOpCreate(&handle));
  MLUOP_CHECK(mluOpSetQueue(handle, queue));

  const int x_dims[] = {N, H, W, h_mask * w_mask}, y_dims[] = {N, H, W, H * W};
  mluOpTensorDescriptor_t x_desc, y_desc;
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&x_desc));
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&y_desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor(x_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, x_dims));
  MLUOP_CHECK(mluOpSetTensorDescriptor(y_desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, y_dims));

  std::vector<float> x(mluOpGetTensorElementNum(x_desc)), y(mluOpGetTensorElementNum(y_desc), -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  void *x_device, *y_device;
  CNRT_CHECK(cnrtMalloc(&x_device, x.size() * sizeof(float)));
  CNRT_CHECK(cnrtMalloc(&y_device, y.size() * sizeof(float)));
  CNRT_CHECK(cnrtMemcpy(x_device, x.data(), x.size() * sizeof(float), cnrtMemcpyHostToDev));

  cnrtNotifier_t start, end;
  CNRT_CHECK(cnrtNotifierCreate(&start));
  CNRT_CHECK(cnrtNotifierCreate(&end));
  CNRT_CHECK(cnrtPlaceNotifier(start, queue));
  MLUOP_CHECK(mluOpPsamaskForward(handle, 0, x_desc, x_device, h_mask, w_mask, y_desc, y_device));
  CNRT_CHECK(cnrtPlaceNotifier(end, queue));
  CNRT_CHECK(cnrtQueueSync(queue));
  float us = -1;
  CNRT_CHECK(cnrtNotifierDuration(start, end, &us));
  CNRT_CHECK(cnrtMemcpy(y.data(), y_device, y.size() * sizeof(float), cnrtMemcpyDevToHost));

  CNRT_CHECK(cnrtNotifierDestroy(end));
  CNRT_CHECK(cnrtNotifierDestroy(start));
  CNRT_CHECK(cnrtFree(y_device));
  CNRT_CHECK(cnrtFree(x_device));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(y_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(x_desc));
  MLUOP_CHECK(mluOpDestroy(handle));
  CNRT_CHECK(cnrtQueueDestroy(queue));

  const int wrong = CountWrong(x, y);
  printf("psamask forward: %.1f us, %d of %zu elements wrong\n", us, wrong, y.size());
  return wrong == 0 && us > 0 ? 0 : 1;
}
