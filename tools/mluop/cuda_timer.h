// SPDX-License-Identifier: Apache-2.0
// Times work on a CUDA device. Calls the CUDA driver (libcuda.so.1) directly, so that mluop builds
// without the CUDA toolkit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mlu_op.h"

namespace mluop::tool {

class CudaTimer {
 public:
  // `device`: "cuda:N", the current device of this thread. Throws std::runtime_error.
  explicit CudaTimer(const std::string& device);
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  // Returns the GPU's name, such as "NVIDIA H200". Throws std::runtime_error.
  std::string DeviceName() const;

  // Captures the work of `enqueue` into a graph and replays it. Returns the seconds of the fastest
  // replay, without the host time of the calls. Throws std::runtime_error.
  using Enqueue = std::function<mluOpStatus_t(cnrtQueue_t queue)>;
  double SecondsOfReplay(const Enqueue& enqueue, int replays);

  // Returns the host time of launching an empty kernel, in seconds.
  double SecondsOfLaunch();

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace mluop::tool
