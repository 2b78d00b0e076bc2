/* SPDX-License-Identifier: Apache-2.0 */
/* A stub of libcuda.so.1 with the functions that the timer of mluop calls. Captured work runs at its capture, and every
   measured interval is 0.1 ms. */
#include <stddef.h>
#include <string.h>

static int object; /* the target of every handle */

int cuInit(unsigned flags) { return (int)(flags * 0); }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  strncpy(name, "Stub GPU", (size_t)size);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)80 << 30;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 13: *value = 1980000; break;  /* clock, kHz */
    case 16: *value = 132; break;      /* SMs */
    case 36: *value = 3201000; break;  /* memory clock, kHz */
    case 37: *value = 6144; break;     /* bits of the memory bus */
    case 38: *value = 60 << 20; break; /* bytes of the L2 */
    default: return 1;
  }
  return 0;
}

static int Make(void** made) {
  *made = &object;
  return 0;
}
int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  (void)flags, (void)device;
  return Make(context);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  return Make(context);
}
int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  return Make(stream);
}
int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  return Make(event);
}
int cuStreamEndCapture(void* stream, void** graph) {
  (void)stream;
  return Make(graph);
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  (void)graph, (void)flags;
  return Make(executable);
}
int cuModuleLoadData(void** module, const void* image) {
  return strncmp(image, ".version", 8) == 0 ? Make(module) : 218; /* invalid PTX */
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module, (void)name;
  return Make(function);
}

static int Take(void* taken) { return taken == &object ? 0 : 400; /* invalid handle */ }
int cuCtxDestroy_v2(void* context) { return Take(context); }
int cuCtxSetCurrent(void* context) { return Take(context); }
int cuStreamSynchronize(void* stream) { return Take(stream); }
int cuStreamBeginCapture_v2(void* stream, int mode) {
  (void)mode;
  return Take(stream);
}
int cuGraphLaunch(void* executable, void* stream) { return Take(executable) + Take(stream); }
int cuGraphDestroy(void* graph) { return Take(graph); }
int cuGraphExecDestroy(void* executable) { return Take(executable); }
int cuEventRecord(void* event, void* stream) { return Take(event) + Take(stream); }
int cuEventSynchronize(void* event) { return Take(event); }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = 0.1f;
  return Take(start) + Take(end);
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void* stream, void** parameters, void** extra) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z,
      (void)shared;
  (void)parameters, (void)extra;
  return Take(function) + Take(stream);
}
