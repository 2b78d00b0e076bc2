// SPDX-License-Identifier: Apache-2.0
// Between libmluops.so and libmluops_cuda.so, which the former loads at the first use of a CUDA
// device. Both come from one build: they share the classes of core/ and check each other's version.
#pragma once

#include "core/device.h"

namespace mluop {

// What the CUDA library may call.
struct HostFunctions {
  void (*keep_message)(mluOpStatus_t status, const char* sentence);  // for the calling thread
};

// What it gives.
struct CudaLibrary {
  int count;         // of CUDA devices
  Device** devices;  // which live as long as the process
  char fault[200];   // why there are none; "" where there are
};

inline constexpr char kCudaLibraryFile[] = "libmluops_cuda.so";
inline constexpr char kCudaLibraryEntry[] = "mluopsCudaLibrary";
// NULL for another version than its own.
using CudaLibraryEntry = const CudaLibrary* (*)(int version, const HostFunctions* host);

constexpr int kCudaLibraryVersion = (MLUOP_MAJOR * 1000 + MLUOP_MINOR) * 1000 + MLUOP_PATCHLEVEL;

// Loads the library, once. Where that fails there are no devices, and `fault` says why.
const CudaLibrary& LoadedCudaLibrary();

}  // namespace mluop
