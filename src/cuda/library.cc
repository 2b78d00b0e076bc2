// SPDX-License-Identifier: Apache-2.0
// The entry point of libmluops_cuda.so, which returns its devices to libmluops.so.
#include <cstdio>
#include <new>
#include <vector>

#include "core/device_library.h"
#include "cuda/device.h"

namespace mluop {

StoreMessage store_message = nullptr;  // set by the entry point, before any call can fail

namespace {

DeviceLibrary MakeLibrary(std::span<const OpSpec* const> tables) {
  static std::vector<Device*> devices;
  DeviceLibrary library = {};
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    snprintf(library.error, sizeof(library.error), "CUDA: %s", cudaGetErrorString(error));
    return library;
  }
  try {
    for (int i = 0; i < count; ++i) devices.push_back(new CudaDevice(i, tables));
  } catch (const std::bad_alloc&) {
    snprintf(library.error, sizeof(library.error), "CUDA: out of memory");
    return library;
  }
  library.count = count;
  library.devices = devices.data();
  return library;
}

}  // namespace
}  // namespace mluop

extern "C" [[gnu::visibility("default")]] const mluop::DeviceLibrary* mluopsDeviceLibrary(
    int version, const mluop::DeviceLibraryHost* host) {
  if (version != mluop::kDeviceLibraryVersion) return nullptr;
  mluop::store_message = host->store_message;
  static const mluop::DeviceLibrary library = mluop::MakeLibrary(host->tables);
  return &library;
}
