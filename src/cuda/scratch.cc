// SPDX-License-Identifier: Apache-2.0
#include "cuda/scratch.h"

#include "cuda/device_guard.h"

namespace mluop {
namespace {

cudaError_t IsCaptured(cudaStream_t stream, bool* captured) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &status);
  *captured = status != cudaStreamCaptureStatusNone;
  return error;
}

}  // namespace

CudaScratch::~CudaScratch() {
  const DeviceGuard guard(device_);
  // Relaxed mode: another thread's stream capture must not be invalidated.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  const bool has_memory = data_ != nullptr || !graph_blocks_.empty();
  // If synchronisation fails, leaks the memory: a kernel may still use it.
  if (has_memory && cudaDeviceSynchronize() == cudaSuccess) {
    for (void* block : graph_blocks_) cudaFree(block);
    if (data_ != nullptr) cudaFree(data_);
  }
  if (last_use_ != nullptr) cudaEventDestroy(last_use_);
  cudaThreadExchangeStreamCaptureMode(&mode);
  static_cast<void>(cudaGetLastError());
}

cudaError_t CudaScratch::Create() {
  return cudaEventCreateWithFlags(&last_use_, cudaEventDisableTiming);
}

cnrtRet_t CudaScratch::ChangeQueue() {
  if (!used_) return cnrtSuccess;
  const DeviceGuard guard(device_);
  bool captured = false;
  cudaError_t error = IsCaptured(stream_, &captured);
  used_ = false;
  // The default stream cannot record events while a stream that synchronises with it is captured.
  if (error == cudaErrorStreamCaptureImplicit) {
    static_cast<void>(cudaGetLastError());
    record_pending_ = true;
    return cnrtSuccess;
  }
  // A graph under capture does not use the scratch yet.
  if (error == cudaSuccess && !captured) {
    error = cudaEventRecord(last_use_, stream_);
    must_wait_ = error == cudaSuccess;
  }
  if (error == cudaSuccess) return cnrtSuccess;
  static_cast<void>(cudaGetLastError());
  return cnrtErrorUnknown;
}

cudaError_t CudaScratch::Reserve(size_t bytes, cudaStream_t stream, void** data) {
  bool captured = false;
  cudaError_t error = IsCaptured(stream, &captured);
  if (error != cudaSuccess) return error;
  if (bytes > size_ && captured) return cudaErrorStreamCaptureUnsupported;
  if (record_pending_ &&
      !captured) {  // a captured stream is ordered after the default stream anyway
    error = cudaEventRecord(last_use_, nullptr);
    if (error != cudaSuccess) return error;
    record_pending_ = false;
    must_wait_ = true;
  }
  if (must_wait_) {
    error = cudaStreamWaitEvent(stream, last_use_,
                                captured ? cudaEventWaitExternal : cudaEventWaitDefault);
    if (error != cudaSuccess) return error;
    must_wait_ = captured;  // the graph's replays wait; the next call must wait too
  }
  if (bytes > size_ && (error = Grow(bytes, stream)) != cudaSuccess) return error;
  captured_ |= captured;
  stream_ = stream;
  used_ = true;
  *data = data_;
  return cudaSuccess;
}

cudaError_t CudaScratch::Grow(size_t bytes, cudaStream_t stream) {
  if (captured_) graph_blocks_.reserve(graph_blocks_.size() + 1);
  void* grown = nullptr;
  const cudaError_t error = cudaMallocAsync(&grown, bytes, stream);
  if (error != cudaSuccess) return error;
  if (captured_) {
    graph_blocks_.push_back(data_);
  } else if (data_ != nullptr) {
    cudaFreeAsync(data_, stream);
  }
  data_ = grown;
  size_ = bytes;
  captured_ = false;
  return cudaSuccess;
}

}  // namespace mluop
