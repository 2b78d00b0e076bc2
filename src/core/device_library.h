// SPDX-License-Identifier: Apache-2.0
// Between libmluops.so and a device library, libmluops_<kind>.so, which is loaded at the first use of
// a device of that kind. Both come from one build: they share the classes of core/ and check each
// other's version.
#pragma once

#include <span>
#include <string_view>

#include "core/device.h"
#include "core/error.h"

namespace mluop {

// What a device library gets.
struct DeviceLibraryHost {
  StoreMessage store_message;
  std::span<const OpSpec* const> tables;  // of all operators and workspace getters
};

// What it gives.
struct DeviceLibrary {
  int count;         // of devices
  Device** devices;  // they live as long as the process
  char fault[200];   // why there are none; "" where there are some
};

// The symbol that a device library exports; returns NULL for another version than its own.
inline constexpr char kDeviceLibraryEntry[] = "mluopsDeviceLibrary";
using DeviceLibraryEntry = const DeviceLibrary* (*)(int version, const DeviceLibraryHost* host);

constexpr int kDeviceLibraryVersion = (MLUOP_MAJOR * 1000 + MLUOP_MINOR) * 1000 + MLUOP_PATCHLEVEL;

// Loads the library of a kind ("cuda"), once. Where that fails it has no devices and says why.
const DeviceLibrary& LoadDeviceLibrary(std::string_view kind);

}  // namespace mluop
