// SPDX-License-Identifier: Apache-2.0
// Times work on a CUDA device. Talks to the CUDA driver (libcuda.so.1) directly, so that the driver
// program needs no CUDA toolkit to build.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mlu_op.h"

namespace mluop::tool {

class CudaTimer {
 public:
  // device: "cuda:N", the current device of this thread. Throws std::runtime_error.
  explicit CudaTimer(const std::string& device);
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  // The GPU's own name, such as "NVIDIA H200". Throws std::runtime_error.
  std::string DeviceName() const;

  // Captures what `enqueue` puts into a queue as a graph and replays it. Returns the seconds of the
  // fastest replay; the cost of the calls is not in it. Throws std::runtime_error.
  using Enqueue = std::function<mluOpStatus_t(cnrtQueue_t queue)>;
  double SecondsOfReplay(const Enqueue& enqueue, int replays);

  // Seconds that the host takes to launch an empty kernel.
  double SecondsOfLaunch();

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace mluop::tool
