/* SPDX-License-Identifier: Apache-2.0 */
/* A stub of libcuda.so.1, the CUDA driver: VERSION is its version, INIT the result of cuInit. */
#include <string.h>

int cuDriverGetVersion(int* version) {
  *version = VERSION;
  return 0;
}

int cuInit(unsigned int flags) {
  (void)flags;
  return INIT;
}

/* 500: no such function. */
int cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
  (void)version;
  (void)flags;
  *function = NULL;
  if (strcmp(symbol, "cuDriverGetVersion") == 0) *function = (void*)cuDriverGetVersion;
  if (strcmp(symbol, "cuInit") == 0) *function = (void*)cuInit;
  if (strcmp(symbol, "cuGetProcAddress") == 0) *function = (void*)cuGetProcAddress;
  return *function == NULL ? 500 : 0;
}
