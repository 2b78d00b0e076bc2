// SPDX-License-Identifier: Apache-2.0
// The list of visible devices, and which of them a thread uses.
#include "core/device.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/device_library.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/runtime_error.h"

namespace mluop {
namespace {

thread_local int current_ordinal = 0;

bool IsCudaName(std::string_view name) {
  if (name.substr(0, 5) != "cuda:" || name.size() < 6) return false;
  return name.substr(5).find_first_not_of("0123456789") == std::string_view::npos;
}

// The device of that name, or NULL.
Device* FindDevice(std::string_view name) {
  if (name == "cpu") return CpuDevice();
  if (!IsCudaName(name)) return nullptr;
  const CudaLibrary& cuda = LoadedCudaLibrary();
  for (int i = 0; i < cuda.count; ++i) {
    if (name == cuda.devices[i]->name()) return cuda.devices[i];
  }
  return nullptr;
}

// Adds the device of that name, or writes the fault.
void Add(std::string_view name, DeviceList* list) {
  Device* const device = FindDevice(name);
  const char* rule = nullptr;
  if (device == nullptr) {
    rule = IsCudaName(name) ? "a device that is present" : "cpu or cuda:N";
  }
  if (list->count == DeviceList::kMaxDevices) rule = "a list of at most 64 devices";
  for (int i = 0; i < list->count && rule == nullptr; ++i) {
    if (list->devices[i] == device) rule = "a list without repetition";
  }
  if (rule == nullptr) {
    list->devices[list->count++] = device;
    return;
  }
  const char* const cause = IsCudaName(name) && device == nullptr ? LoadedCudaLibrary().fault : "";
  snprintf(list->fault, sizeof(list->fault), "MLUOP_VISIBLE_DEVICES must be %s%s%s%s, got %.*s",
           rule, cause[0] == '\0' ? "" : " (", cause, cause[0] == '\0' ? "" : ")",
           name.size() > 80 ? 80 : static_cast<int>(name.size()), name.data());
}

// The CPU, then all CUDA devices.
DeviceList AllDevices() {
  DeviceList list;
  const CudaLibrary& cuda = LoadedCudaLibrary();
  list.devices[list.count++] = CpuDevice();
  for (int i = 0; i < cuda.count && list.count < DeviceList::kMaxDevices; ++i) {
    list.devices[list.count++] = cuda.devices[i];
  }
  std::memcpy(list.without_cuda, cuda.fault, sizeof(list.without_cuda));
  return list;
}

// Device 0 is the CPU unless the environment says otherwise: no need to look for the others, which
// would load the CUDA library.
bool IsDefaultCpu(int ordinal) { return ordinal == 0 && VisibleDevices() == nullptr; }

}  // namespace

DeviceList ParseDevices(const char* text) {
  if (text == nullptr) return AllDevices();
  DeviceList list;
  std::string_view rest = text;
  for (bool more = true; more && list.fault[0] == '\0';) {
    const size_t comma = rest.find(',');
    Add(rest.substr(0, comma), &list);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  if (list.fault[0] != '\0') list.count = 0;
  return list;
}

const DeviceList& VisibleDeviceList() {
  static const DeviceList list = ParseDevices(VisibleDevices());
  return list;
}

Device* CurrentDevice(const char* function) {
  if (IsDefaultCpu(current_ordinal)) return CpuDevice();
  const DeviceList& list = VisibleDeviceList();
  if (list.count > 0) return list.devices[current_ordinal];
  static_cast<void>(Fail(MLUOP_STATUS_NOT_INITIALIZED, "%s: %s", function, list.fault));
  return nullptr;
}

}  // namespace mluop

using namespace mluop;

cnrtRet_t cnrtGetDeviceCount(unsigned int* count) {
  if (count == nullptr) return FailNullRuntime(__func__, "count");
  if (CurrentDevice(__func__) == nullptr) return cnrtErrorNoDevice;
  *count = static_cast<unsigned int>(VisibleDeviceList().count);
  return cnrtSuccess;
}

cnrtRet_t cnrtGetDevice(int* ordinal) {
  if (ordinal == nullptr) return FailNullRuntime(__func__, "ordinal");
  if (CurrentDevice(__func__) == nullptr) return cnrtErrorNoDevice;
  *ordinal = current_ordinal;
  return cnrtSuccess;
}

cnrtRet_t cnrtSetDevice(int ordinal) {
  if (CurrentDevice(__func__) == nullptr) return cnrtErrorNoDevice;
  const int count = IsDefaultCpu(ordinal) ? 1 : VisibleDeviceList().count;
  if (ordinal < 0 || ordinal >= count) {
    return FailRuntime(cnrtErrorArgsInvalid, "%s: ordinal must be in [0, %d), got %d", __func__,
                       count, ordinal);
  }
  current_ordinal = ordinal;
  return cnrtSuccess;
}
