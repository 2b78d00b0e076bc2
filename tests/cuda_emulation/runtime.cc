// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the emulation: calls return when their work is done.
#include <cuda/kernel_handle.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "block.h"

struct EmulatedStream {};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point time;
};

namespace {

// The properties of an H200, so that the same implementations are chosen.
constexpr int kSmCount = 132, kSharedBytes = 227 << 10, kMajor = 9, kMinor = 0;
constexpr size_t kSharedWithoutOptIn = 48 << 10, kAlignment = 256;
constexpr unsigned kMaxThreads = 1024, kMaxBlocks = 0x7fffffff;

struct Kernel {
  mluop::KernelCall call = nullptr;
  size_t shared_bytes = kSharedWithoutOptIn;  // allowed
};

std::mutex mutex;  // held by a launch
std::map<const void*, Kernel> kernels;
thread_local cudaError_t last_error = cudaSuccess;
thread_local std::string last_failure;

cudaError_t Return(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Uninitialized memory is NaN as a number, so that its use shows.
cudaError_t Allocate(void** pointer, size_t bytes) {
  if (posix_memalign(pointer, kAlignment, bytes) != 0) return Return(cudaErrorMemoryAllocation);
  std::memset(*pointer, 0xff, bytes);
  return cudaSuccess;
}
cudaError_t Release(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}

}  // namespace

void mluop::RegisterKernel(const void* kernel, KernelCall call) {
  const std::lock_guard<std::mutex> lock(mutex);
  kernels[kernel].call = call;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorLaunchFailure: return last_failure.c_str();
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    default: return "invalid argument";
  }
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? kSmCount
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? kSharedBytes
           : attribute == cudaDevAttrComputeCapabilityMajor       ? kMajor
                                                                  : kMinor;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return Allocate(pointer, bytes); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return Allocate(pointer, bytes); }
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) {
  return Allocate(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) { return Release(pointer); }
cudaError_t cudaFreeHost(void* pointer) { return Release(pointer); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return Release(pointer); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  return std::memmove(to, from, bytes), cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  return std::memset(pointer, value, bytes), cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return *stream = new EmulatedStream, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return delete stream, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = new EmulatedEvent, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return event->time = std::chrono::steady_clock::now(), cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  if (value > kSharedBytes) return Return(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(mutex);
  kernels[kernel].shared_bytes = std::max(kSharedWithoutOptIn, static_cast<size_t>(value));
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return attributes->ptxVersion = 10 * kMajor + kMinor, cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** parameters) {
  const std::lock_guard<std::mutex> lock(mutex);
  const unsigned blocks = config->gridDim.x, threads = config->blockDim.x;
  const Kernel& known = kernels[kernel];
  if (blocks == 0 || blocks > kMaxBlocks || threads == 0 || threads > kMaxThreads)
    return Return(cudaErrorInvalidConfiguration);
  if (config->dynamicSmemBytes > known.shared_bytes) return Return(cudaErrorInvalidValue);
  last_failure = emulation::Run({known.call, kernel, parameters, int64_t{blocks},
                                 static_cast<int>(threads), config->dynamicSmemBytes});
  return last_failure.empty() ? cudaSuccess : Return(cudaErrorLaunchFailure);
}
