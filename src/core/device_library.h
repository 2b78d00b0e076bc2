// SPDX-License-Identifier: Apache-2.0
// The interface between libmluops.so and a device library, libmluops_<kind>.so, which is loaded at
// the first use of a device of that kind. Both come from one build: they share the classes of core/
// and check each other's version.
#pragma once

#include <span>
#include <string_view>

#include "core/device.h"
#include "core/error.h"

namespace mluop {

// Passed by libmluops.so to the entry point of a device library.
struct DeviceLibraryHost {
  StoreMessage store_message;
  std::span<const OpSpec* const> tables;  // all operators and workspace getters
};

// Returned by the entry point of a device library.
struct DeviceLibrary {
  int count;         // number of devices
  Device** devices;  // never destroyed
  char error[200];   // the reason if there are none, else ""
};

// The symbol that a device library exports. The function returns NULL for another version.
inline constexpr char kDeviceLibraryEntry[] = "mluopsDeviceLibrary";
using DeviceLibraryEntry = const DeviceLibrary* (*)(int version, const DeviceLibraryHost* host);

constexpr int kDeviceLibraryVersion = (MLUOP_MAJOR * 1000 + MLUOP_MINOR) * 1000 + MLUOP_PATCHLEVEL;

// Loads the library of a kind ("cuda") once. On failure it has no devices, and `error` is set.
const DeviceLibrary& LoadDeviceLibrary(std::string_view kind);

}  // namespace mluop
