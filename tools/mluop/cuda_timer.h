// SPDX-License-Identifier: Apache-2.0
// Times work on a CUDA device. Calls the CUDA driver (libcuda.so.1) directly, so that mluop builds
// without the CUDA toolkit.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mlu_op.h"

namespace mluop::tool {

// The GPU, as the CUDA driver describes it.
struct CudaFacts {
  std::string name;  // such as "NVIDIA H200"
  int sm_count;
  double clock_mhz, memory_clock_mhz;
  int memory_bus_bits;
  double l2_bytes, memory_bytes;
  int driver_version;  // 1000 * major + 10 * minor
};

class CudaTimer {
 public:
  // `device`: "cuda:N", the current device of this thread. Throws std::runtime_error.
  explicit CudaTimer(const std::string& device);
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  // Throws std::runtime_error.
  CudaFacts Facts() const;

  // Returns float operations per second; a fused multiply-add counts two. They are measured on
  // construction, in a separate context. While a module of PTX is loaded in the context of the
  // operators, every kernel of a replay takes 0.33 us more (H200).
  double peak() const { return peak_; }

  // Captures the work of `enqueue` into a graph and replays it. Returns the seconds of the fastest
  // replay, without the host time of the calls. Throws std::runtime_error.
  using Enqueue = std::function<mluOpStatus_t(cnrtQueue_t queue)>;
  double SecondsOfReplay(const Enqueue& enqueue, int replays);

  // Returns the host time of launching an empty kernel, in seconds.
  double SecondsOfLaunch();

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;
  double peak_;
};

}  // namespace mluop::tool
