// SPDX-License-Identifier: Apache-2.0
// The entry point of libmluops_mlu.so, which returns its device to libmluops.so.
#include <cstdio>

#include "core/device_library.h"
#include "mlu/device.h"
#include "mlu/settings.h"

namespace mluop {

StoreMessage store_message = nullptr;  // set by the entry point, before any call can fail

namespace {

DeviceLibrary MakeLibrary(std::span<const OpSpec* const> tables) {
  DeviceLibrary library = {};
  const char* const fault = bang::GetSettings().fault;
  if (fault[0] != '\0') {
    snprintf(library.error, sizeof(library.error), "%s", fault);
    return library;
  }
  static Device* devices[] = {new MluDevice(tables)};
  library.count = 1;
  library.devices = devices;
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
