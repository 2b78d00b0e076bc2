// SPDX-License-Identifier: Apache-2.0
// The entry of libmluops_cuda.so: its devices, and all families' kernels.
#include "core/device_library.h"

#include <cstdarg>
#include <cstdio>
#include <new>
#include <vector>

#include "core/error.h"
#include "cuda/device.h"

namespace mluop {
namespace {

HostFunctions host_functions = {};

CudaLibrary Describe() {
  static std::vector<Device*> devices;
  CudaLibrary library = {};
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    snprintf(library.fault, sizeof(library.fault), "CUDA: %s", cudaGetErrorString(error));
    return library;
  }
  try {
    for (int i = 0; i < count; ++i) devices.push_back(new CudaDevice(i));
  } catch (const std::bad_alloc&) {
    snprintf(library.fault, sizeof(library.fault), "CUDA: no memory for the devices");
    return library;
  }
  library.count = count;
  library.devices = devices.data();
  return library;
}

}  // namespace

mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...) {
  char sentence[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof(sentence), format, arguments);
  va_end(arguments);
  host_functions.keep_message(status, sentence);
  return status;
}

#define MLUOP_FAMILY(folder)           \
  namespace folder {                   \
  extern const CudaFamily kCudaFamily; \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

std::span<const CudaFamily* const> CudaFamilies() {
  static const CudaFamily* const families[] = {
#define MLUOP_FAMILY(folder) &folder::kCudaFamily,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return families;
}

}  // namespace mluop

extern "C" [[gnu::visibility("default")]] const mluop::CudaLibrary* mluopsCudaLibrary(
    int version, const mluop::HostFunctions* host) {
  if (version != mluop::kCudaLibraryVersion) return nullptr;
  mluop::host_functions = *host;
  static const mluop::CudaLibrary library = mluop::Describe();
  return &library;
}
