// SPDX-License-Identifier: Apache-2.0
// The resources of a call on CUDA: a stream, scratch, and kernel launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "core/implementation.h"
#include "cuda/kernel_handle.h"
#include "cuda/scratch.h"

namespace mluop {

// A one-dimensional launch of at most 2^31-1 blocks.
struct Grid {
  int64_t blocks;
  int threads;
  size_t shared_bytes = 0;  // dynamic shared memory
  // Programmatic dependent launch: the kernel may start before its predecessor in the same call
  // ends, and waits for it in its code (pdl.h).
  bool pdl = false;
};

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The alignment of scratch.
inline constexpr size_t kCudaAlignment = 256;
constexpr size_t AlignedBytes(size_t bytes) {
  return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}
// Returns the workspace size that CudaContext::Scratch(bytes) requires, with padding for alignment.
constexpr size_t CudaWorkspaceFor(size_t bytes) { return bytes == 0 ? 0 : bytes + kCudaAlignment; }

// The device properties that determine launch sizes.
struct CudaProperties {
  int device = 0;  // CUDA ordinal
  int sm_count = 0;
  size_t shared_bytes = 0;  // maximum per block
  char architecture[16] = "sm_?";
};

// After the first failure all further steps do nothing, and status() returns that failure. Callers
// check once, at the end.
class CudaContext {
 public:
  struct Call {
    std::string_view op;
    cudaStream_t stream;
    bool atomics_allowed;
    const CudaProperties* properties;
    Workspace workspace;
    CudaScratch* scratch;
    CudaScratch* nested;  // the scratch of operators that an implementation calls
  };
  explicit CudaContext(const Call& call) : call_(call) {}

  // Returns the context of an operator that this call runs: it has other scratch and no workspace.
  // Its first kernel starts after all earlier work (pdl.h).
  CudaContext Nested() const;

  cudaStream_t stream() const { return call_.stream; }
  bool atomics_allowed() const { return call_.atomics_allowed; }
  int sm_count() const { return call_.properties->sm_count; }
  size_t shared_bytes() const { return call_.properties->shared_bytes; }

  // Returns `bytes` of memory aligned to kCudaAlignment: from the workspace if it has at least
  // CudaWorkspaceFor(bytes), else from the handle. Use it once per call. Returns NULL after a
  // failure; later launches are then skipped.
  void* Scratch(size_t bytes);

  // Fills device memory with zeros.
  void Zero(void* data, size_t bytes);

  template <typename... Parameters, typename... Values>
  void Launch(void (*kernel)(Parameters...), const Grid& grid, Values... values) {
    LaunchWith(kernel, grid, static_cast<Parameters>(values)...);
  }

  // Returns the first failure, or SUCCESS.
  mluOpStatus_t status() const;

 private:
  template <typename... Parameters>
  void LaunchWith(void (*kernel)(Parameters...), const Grid& grid, Parameters... parameters) {
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&parameters))...};
    LaunchPacked(KernelHandle(kernel), grid, addresses);
  }
  void LaunchPacked(const void* kernel, const Grid& grid, void** parameters);
  void RecordError(cudaError_t error, const char* step);

  Call call_;
  cudaError_t error_ = cudaSuccess;
  bool after_kernel_ = false;    // the last step was a launch
  bool growth_refused_ = false;  // scratch could not grow during a capture
  const char* step_ = "";
};

template <class Problem>
using CudaCall = Call<Problem, CudaContext>;
template <class Problem>
using CudaImplementation = Implementation<Problem, CudaContext>;
using CudaOperator = DeviceOperator<CudaContext>;
// Each family defines one, <folder>::kCudaFamily.
using CudaFamily = DeviceFamily<CudaContext>;

// Returns whether every tensor has fewer than 2^31 elements, so that kernels may use 32-bit
// offsets.
bool HasSmallTensors(const Arguments& arguments);
template <class Problem>
bool IsSmall(const CudaCall<Problem>& call) {
  return HasSmallTensors(call.arguments);
}
inline constexpr int64_t kSmallLimit = int64_t{1} << 31;

// Returns the CudaFamily of every family; defined in src/ops/cuda_list.cc.
std::span<const CudaFamily* const> CudaFamilies();

mluOpStatus_t StatusOf(cudaError_t error);

}  // namespace mluop
