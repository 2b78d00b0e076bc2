// SPDX-License-Identifier: Apache-2.0
// What the CUDA side of an operator needs beside its arguments: a stream, scratch, and one way to
// launch kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "core/implementation.h"
#include "cuda/scratch.h"

namespace mluop {

// A one-dimensional launch: at most 2^31-1 blocks.
struct Grid {
  int64_t blocks;
  int threads;
  size_t shared_bytes = 0;  // of dynamic shared memory
  // Programmatic dependent launch: the kernel may start before its predecessor in the same call has
  // ended, and waits for it by itself (pdl.h).
  bool pdl = false;
};

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Scratch is aligned to this.
inline constexpr size_t kCudaAlignment = 256;
constexpr size_t AlignedBytes(size_t bytes) {
  return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}
// The workspace that CudaContext::Scratch(bytes) takes, whatever the alignment of its pointer.
constexpr size_t CudaWorkspaceFor(size_t bytes) { return bytes == 0 ? 0 : bytes + kCudaAlignment; }

// What kernels are fitted to.
struct CudaProperties {
  int device = 0;  // its number
  int sm_count = 0;
  size_t shared_bytes = 0;  // that a block may have
  char architecture[16] = "sm_?";
};

// After the first failure every further step does nothing, and status() tells of it: callers need
// not look in between.
class CudaContext {
 public:
  struct Call {
    std::string_view op;
    cudaStream_t stream;
    bool atomics_allowed;
    const CudaProperties* properties;
    Workspace workspace;
    CudaScratch* scratch;
  };
  explicit CudaContext(const Call& call) : call_(call) {}

  cudaStream_t stream() const { return call_.stream; }
  bool atomics_allowed() const { return call_.atomics_allowed; }
  int sm_count() const { return call_.properties->sm_count; }
  size_t shared_bytes() const { return call_.properties->shared_bytes; }

  // `bytes` of memory aligned to kCudaAlignment, from the caller's workspace where it is at least
  // CudaWorkspaceFor(bytes), else from the handle. Once per call. NULL after a failure, which the
  // launches that follow then skip.
  void* Scratch(size_t bytes);

  // Zeroes memory of the device.
  void Zero(void* data, size_t bytes);

  template <typename... Parameters, typename... Values>
  void Launch(void (*kernel)(Parameters...), const Grid& grid, Values... values) {
    LaunchWith(kernel, grid, static_cast<Parameters>(values)...);
  }

  // What the operator returns.
  mluOpStatus_t status() const;

 private:
  template <typename... Parameters>
  void LaunchWith(void (*kernel)(Parameters...), const Grid& grid, Parameters... parameters) {
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&parameters))...};
    LaunchPacked(reinterpret_cast<const void*>(kernel), grid, addresses);
  }
  void LaunchPacked(const void* kernel, const Grid& grid, void** parameters);
  void Note(cudaError_t error, const char* step);

  Call call_;
  cudaError_t error_ = cudaSuccess;
  bool after_kernel_ = false;    // the last step was a launch
  bool growth_refused_ = false;  // of scratch, during a capture
  const char* step_ = "";
};

template <class Problem>
using CudaCall = Call<Problem, CudaContext>;
template <class Problem>
using CudaImplementation = Implementation<Problem, CudaContext>;
using CudaOperator = DeviceOperator<CudaContext>;
// A family defines one of these, <folder>::kCudaFamily.
using CudaFamily = DeviceFamily<CudaContext>;

// src/ops/cuda_list.cc lists them.
std::span<const CudaFamily* const> CudaFamilies();

mluOpStatus_t StatusOf(cudaError_t error);

}  // namespace mluop
