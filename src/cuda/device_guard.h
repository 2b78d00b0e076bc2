// SPDX-License-Identifier: Apache-2.0
// The current CUDA device, which is the caller's: borrowed and given back.
#pragma once

#include <cuda_runtime_api.h>

namespace mluop {

// While it lives, the thread's current CUDA device is `device`; then it is what it was.
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
