// SPDX-License-Identifier: Apache-2.0
// Sets the thread's current CUDA device temporarily.
#pragma once

#include <cuda_runtime_api.h>

namespace mluop {

// Makes `device` the thread's current CUDA device, and restores the old one in the destructor.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&before_) == cudaSuccess && before_ != device) {
      changed_ = cudaSetDevice(device) == cudaSuccess;
    }
  }
  ~DeviceGuard() {
    if (changed_) cudaSetDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace mluop
