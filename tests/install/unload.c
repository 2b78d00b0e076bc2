/* SPDX-License-Identifier: Apache-2.0
 * Loads the library, makes a call on two threads and unloads the library immediately, as a plugin
 * host does.
 *   unload LIBRARY */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mlu_op.h"
#include "mluops/extensions.h"

enum { kSize = 20, kElements = kSize * kSize * kSize * kSize };

static void Fail(const char* what) {
  fprintf(stderr, "unload: %s\n", what);
  exit(1);
}

#define FIND(function)                                                                      \
  __typeof__(&(function)) function##_ = (__typeof__(&(function)))dlsym(library, #function); \
  if (function##_ == NULL) Fail(#function)

static void LoadUseUnload(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) Fail(dlerror());
  FIND(mluOpCreate);
  FIND(mluOpDestroy);
  FIND(mluOpSetNumThreads);
  FIND(mluOpCreateTensorDescriptor);
  FIND(mluOpSetTensorDescriptor);
  FIND(mluOpDestroyTensorDescriptor);
  FIND(mluOpPsamaskForward);
  const int dims[] = {1, kSize, kSize, kSize * kSize};
  float* x = calloc(kElements, sizeof(float));
  float* y = calloc(kElements, sizeof(float));
  mluOpHandle_t handle = NULL;
  mluOpTensorDescriptor_t desc = NULL;
  if (mluOpCreate_(&handle) != MLUOP_STATUS_SUCCESS ||
      mluOpSetNumThreads_(handle, 2) != MLUOP_STATUS_SUCCESS ||
      mluOpCreateTensorDescriptor_(&desc) != MLUOP_STATUS_SUCCESS ||
      mluOpSetTensorDescriptor_(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims) !=
          MLUOP_STATUS_SUCCESS ||
      mluOpPsamaskForward_(handle, 0, desc, x, kSize, kSize, desc, y) != MLUOP_STATUS_SUCCESS ||
      mluOpDestroyTensorDescriptor_(desc) != MLUOP_STATUS_SUCCESS ||
      mluOpDestroy_(handle) != MLUOP_STATUS_SUCCESS) {
    Fail("a call failed");
  }
  free(x);
  free(y);
  if (dlclose(library) != 0) Fail(dlerror());
  usleep(20000); /* longer than a worker spins */
}

int main(int argc, char** argv) {
  if (argc != 2) Fail("must be called with the library");
  for (int i = 0; i < 3; ++i) LoadUseUnload(argv[1]);
  return 0;
}
