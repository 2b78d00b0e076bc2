// SPDX-License-Identifier: Apache-2.0
// The list of visible devices, and the current device of each thread.
#include "core/device.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/device_library.h"
#include "core/environment.h"
#include "core/error.h"
#include "mluops/extensions.h"

namespace mluop {
namespace {

thread_local int current_ordinal = 0;

// Returns the kind in a name like "cuda:0"; empty if the name has another form.
std::string_view KindOf(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return {};
  const bool is_number = name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  const std::string_view kind = name.substr(0, colon);
  const bool is_word =
      kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  return is_number && is_word ? kind : std::string_view();
}

// Returns the device of that name, or NULL.
Device* FindDevice(std::string_view name) {
  if (name == CpuDevice()->name()) return CpuDevice();
  const std::string_view kind = KindOf(name);
  if (kind.empty()) return nullptr;
  const DeviceLibrary& library = LoadDeviceLibrary(kind);
  for (int i = 0; i < library.count; ++i) {
    if (name == library.devices[i]->name()) return library.devices[i];
  }
  return nullptr;
}

// Adds the device of that name, or writes list->error.
void Add(std::string_view name, DeviceList* list) {
  Device* const device = FindDevice(name);
  const std::string_view kind = KindOf(name);
  const char* rule = nullptr;
  if (device == nullptr) rule = kind.empty() ? "cpu, cuda:N or mlu:0" : "an available device";
  if (list->count == DeviceList::kMaxDevices) rule = "a list of at most 64 devices";
  for (int i = 0; i < list->count && rule == nullptr; ++i) {
    if (list->devices[i] == device) rule = "a list without duplicates";
  }
  if (rule == nullptr) {
    list->devices[list->count++] = device;
    return;
  }
  const char* const cause = device == nullptr && !kind.empty() ? LoadDeviceLibrary(kind).error : "";
  snprintf(list->error, sizeof(list->error), "MLUOP_VISIBLE_DEVICES must be %s%s%s%s, got %.*s",
           rule, cause[0] == '\0' ? "" : " (", cause, cause[0] == '\0' ? "" : ")",
           name.size() > 80 ? 80 : static_cast<int>(name.size()), name.data());
}

// Returns the CPU, then all CUDA devices.
DeviceList DefaultDevices() {
  DeviceList list;
  list.devices[list.count++] = CpuDevice();
  const DeviceLibrary& library = LoadDeviceLibrary("cuda");
  for (int i = 0; i < library.count && list.count < DeviceList::kMaxDevices; ++i) {
    list.devices[list.count++] = library.devices[i];
  }
  std::memcpy(list.library_error, library.error, sizeof(list.library_error));
  return list;
}

// Device 0 is the CPU unless MLUOP_VISIBLE_DEVICES is set. This test avoids the list, which would
// load the device libraries.
bool IsDefaultCpu(int ordinal) { return ordinal == 0 && VisibleDevices() == nullptr; }

}  // namespace

DeviceList ParseDevices(const char* text) {
  if (text == nullptr || text[0] == '\0') return DefaultDevices();
  DeviceList list;
  for (std::string_view rest = text; list.error[0] == '\0';) {
    const size_t comma = rest.find(',');
    Add(rest.substr(0, comma), &list);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (list.error[0] != '\0') list.count = 0;
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
  static_cast<void>(Fail(MLUOP_STATUS_NOT_INITIALIZED, "%s: %s", function, list.error));
  return nullptr;
}

}  // namespace mluop

using namespace mluop;

mluOpStatus_t mluOpGetDeviceOrdinal(const char* name, int* ordinal) {
  if (name == nullptr) return FailNull(__func__, "name");
  if (ordinal == nullptr) return FailNull(__func__, "ordinal");
  if (IsDefaultCpu(0) && name == std::string_view(CpuDevice()->name())) {
    *ordinal = 0;
    return MLUOP_STATUS_SUCCESS;
  }
  const DeviceList& list = VisibleDeviceList();
  for (int i = 0; i < list.count; ++i) {
    if (name != std::string_view(list.devices[i]->name())) continue;
    *ordinal = i;
    return MLUOP_STATUS_SUCCESS;
  }
  if (list.error[0] != '\0') {
    return Fail(MLUOP_STATUS_NOT_INITIALIZED, "%s: %s", __func__, list.error);
  }
  if (VisibleDevices() != nullptr) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: name must be in MLUOP_VISIBLE_DEVICES = %.80s, got %.80s", __func__,
                VisibleDevices(), name);
  }
  const char* const cause = list.library_error;
  return Fail(MLUOP_STATUS_NOT_SUPPORTED,
              "%s: name must be a device that is present%s%s%s, got %.80s", __func__,
              cause[0] == '\0' ? "" : " (", cause, cause[0] == '\0' ? "" : ")", name);
}

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
    return Fail(cnrtErrorArgsInvalid, "%s: ordinal must be in [0, %d), got %d", __func__, count,
                ordinal);
  }
  current_ordinal = ordinal;
  return cnrtSuccess;
}
