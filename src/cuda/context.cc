// SPDX-License-Identifier: Apache-2.0
#include "cuda/context.h"

#include <map>
#include <mutex>
#include <utility>

#include "core/call_steps.h"
#include "core/error.h"

namespace mluop {
namespace {

constexpr int64_t kMaxBlocks = 0x7fffffff;        // maximum of a grid's first dimension
constexpr size_t kDefaultSharedBytes = 48 << 10;  // dynamic shared memory without opt-in, bytes

constexpr int kFirstPdl = 90;  // the first architecture with programmatic dependent launch

// The known attributes of a kernel on a device. They avoid repeated calls of the driver.
struct KernelSettings {
  size_t shared_bytes = kDefaultSharedBytes;  // allowed
  int ptx_version = 0;                        // of the loaded code; 0: not queried
};

// Allows a kernel `shared_bytes` of dynamic shared memory. Never lowers the limit, because other
// handles launch the kernel too. Clears *pdl if the loaded code was compiled for architectures
// before sm_90, in which WaitForPredecessor() is empty.
cudaError_t Configure(const void* kernel, int device, size_t shared_bytes, bool* pdl) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, KernelSettings> all;
  const std::lock_guard<std::mutex> lock(mutex);
  KernelSettings& settings = all[{kernel, device}];
  cudaError_t error = cudaSuccess;
  if (settings.shared_bytes < shared_bytes) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes));
    if (error == cudaSuccess) settings.shared_bytes = shared_bytes;
  }
  cudaFuncAttributes attributes = {};
  if (error == cudaSuccess && *pdl && settings.ptx_version == 0) {
    error = cudaFuncGetAttributes(&attributes, kernel);
    settings.ptx_version = attributes.ptxVersion;
  }
  *pdl = *pdl && settings.ptx_version >= kFirstPdl;
  return error;
}

}  // namespace

mluOpStatus_t StatusOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return MLUOP_STATUS_SUCCESS;
    case cudaErrorMemoryAllocation: return MLUOP_STATUS_ALLOC_FAILED;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidDeviceFunction: return MLUOP_STATUS_ARCH_MISMATCH;
    default: return MLUOP_STATUS_EXECUTION_FAILED;
  }
}

bool HasSmallTensors(const Arguments& arguments) {
  for (const TensorArgument& tensor : arguments.tensors) {
    if (tensor.desc != nullptr && tensor.desc->ElementCount() >= kSmallLimit) return false;
  }
  return true;
}

CudaContext CudaContext::Nested() const {
  CudaContext nested = *this;
  nested.call_.workspace = {};
  nested.call_.scratch = call_.nested;
  nested.after_kernel_ = false;
  return nested;
}

void* CudaContext::Scratch(size_t bytes) {
  if (call_.workspace.size >= CudaWorkspaceFor(bytes)) {
    const auto address = reinterpret_cast<uintptr_t>(call_.workspace.data);
    return static_cast<char*>(call_.workspace.data) + (AlignedBytes(address) - address);
  }
  void* data = nullptr;
  if (error_ != cudaSuccess) return nullptr;
  RecordError(call_.scratch->Reserve(bytes, stream(), &data), "scratch");
  growth_refused_ = error_ == cudaErrorStreamCaptureUnsupported;
  return data;
}

void CudaContext::Zero(void* data, size_t bytes) {
  if (error_ != cudaSuccess || bytes == 0) return;
  after_kernel_ = false;
  RecordError(cudaMemsetAsync(data, 0, bytes, stream()), "zero fill");
}

void CudaContext::LaunchPacked(const void* kernel, const Grid& grid, void** parameters) {
  if (error_ != cudaSuccess || grid.blocks == 0) return;
  if (grid.blocks > kMaxBlocks) return RecordError(cudaErrorInvalidConfiguration, "launch");
  CallSteps::Add({grid.blocks, grid.threads, static_cast<int64_t>(grid.shared_bytes)});
  bool pdl = grid.pdl && after_kernel_;
  if (pdl || grid.shared_bytes > kDefaultSharedBytes) {
    RecordError(Configure(kernel, call_.properties->device, grid.shared_bytes, &pdl), "attributes");
    if (error_ != cudaSuccess) return;
  }
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream();
  config.attrs = &attribute;
  config.numAttrs = pdl ? 1 : 0;
  RecordError(cudaLaunchKernelExC(&config, kernel, parameters), "launch");
  after_kernel_ = true;
}

void CudaContext::RecordError(cudaError_t error, const char* step) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears the error, so that the caller does not see it
  error_ = error;
  step_ = step;
}

mluOpStatus_t CudaContext::status() const {
  if (error_ == cudaSuccess) return MLUOP_STATUS_SUCCESS;
  if (growth_refused_) {
    return Fail(MLUOP_STATUS_ALLOC_FAILED,
                "%.*s: scratch must not grow while the queue is captured into a graph; make the "
                "call once before the capture, or pass a workspace",
                MLUOP_SV(call_.op));
  }
  return Fail(StatusOf(error_), "%.*s: %s: %s", MLUOP_SV(call_.op), step_,
              cudaGetErrorString(error_));
}

}  // namespace mluop
