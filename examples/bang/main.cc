// SPDX-License-Identifier: Apache-2.0
// Adds two vectors on the simulated MLU. Build and run: docs/bang.md.
#include <cnrt.h>
#include <stdlib.h>

#include <cstdio>
#include <vector>

#include "mluops/extensions.h"

void LaunchVectorAdd(cnrtQueue_t queue, const float* a, const float* b, float* c, int n);

int main() {
  setenv("MLUOP_VISIBLE_DEVICES", "mlu:0", 0);
  const int n = 1000003;
  const size_t bytes = n * sizeof(float);
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) a[i] = 0.5f * static_cast<float>(i % 1000), b[i] = 3.0f;

  void *device_a, *device_b, *device_c;
  cnrtQueue_t queue;
  if (cnrtQueueCreate(&queue) != cnrtSuccess) {
    std::fprintf(stderr, "no queue: %s\n", mluOpGetLastErrorMessage());
    return EXIT_FAILURE;
  }
  CNRT_CHECK(cnrtMalloc(&device_a, bytes));
  CNRT_CHECK(cnrtMalloc(&device_b, bytes));
  CNRT_CHECK(cnrtMalloc(&device_c, bytes));
  CNRT_CHECK(cnrtMemcpy(device_a, a.data(), bytes, cnrtMemcpyHostToDev));
  CNRT_CHECK(cnrtMemcpy(device_b, b.data(), bytes, cnrtMemcpyHostToDev));

  LaunchVectorAdd(queue, static_cast<float*>(device_a), static_cast<float*>(device_b),
                  static_cast<float*>(device_c), n);
  if (cnrtQueueSync(queue) != cnrtSuccess) {
    std::fprintf(stderr, "%s\n", mluOpGetLastErrorMessage());
    return EXIT_FAILURE;
  }

  CNRT_CHECK(cnrtMemcpy(c.data(), device_c, bytes, cnrtMemcpyDevToHost));
  for (int i = 0; i < n; ++i) {
    if (c[i] != a[i] + b[i]) {
      std::fprintf(stderr, "c[%d] must be %g, got %g\n", i, a[i] + b[i], c[i]);
      return EXIT_FAILURE;
    }
  }
  CNRT_CHECK(cnrtFree(device_a));
  CNRT_CHECK(cnrtFree(device_b));
  CNRT_CHECK(cnrtFree(device_c));
  CNRT_CHECK(cnrtQueueDestroy(queue));
  std::printf("%d sums are right\n", n);
  return EXIT_SUCCESS;
}
