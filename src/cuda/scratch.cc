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
  // Another thread may be recording a graph, which is none of our business.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  const bool some = data_ != nullptr || !of_graphs_.empty();
  // What a kernel may still use is better lost than freed.
  if (some && cudaDeviceSynchronize() == cudaSuccess) {
    for (void* block : of_graphs_) cudaFree(block);
    if (data_ != nullptr) cudaFree(data_);
  }
  if (last_use_ != nullptr) cudaEventDestroy(last_use_);
  cudaThreadExchangeStreamCaptureMode(&mode);
  static_cast<void>(cudaGetLastError());
}

cudaError_t CudaScratch::Create() {
  return cudaEventCreateWithFlags(&last_use_, cudaEventDisableTiming);
}

cnrtRet_t CudaScratch::ChangeQueue(cnrtQueue_t, cnrtQueue_t) {
  if (!used_) return cnrtSuccess;
  const DeviceGuard guard(device_);
  bool captured = false;
  cudaError_t error = IsCaptured(stream_, &captured);
  used_ = false;
  // The default stream, while a stream is captured that waits for it: nothing may be recorded now.
  if (error == cudaErrorStreamCaptureImplicit) {
    static_cast<void>(cudaGetLastError());
    owed_ = true;
    return cnrtSuccess;
  }
  // A graph that is being recorded uses nothing yet.
  if (error == cudaSuccess && !captured) {
    error = cudaEventRecord(last_use_, stream_);
    behind_ = error == cudaSuccess;
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
  if (owed_ && !captured) {  // a captured stream that waits for the default one is in order anyway
    error = cudaEventRecord(last_use_, nullptr);
    if (error != cudaSuccess) return error;
    owed_ = false;
    behind_ = true;
  }
  if (behind_) {
    error = cudaStreamWaitEvent(stream, last_use_,
                                captured ? cudaEventWaitExternal : cudaEventWaitDefault);
    if (error != cudaSuccess) return error;
    behind_ = captured;  // a replay waits by itself; the next call has to as well
  }
  if (bytes > size_ && (error = Grow(bytes, stream)) != cudaSuccess) return error;
  captured_ |= captured;
  stream_ = stream;
  used_ = true;
  *data = data_;
  return cudaSuccess;
}

cudaError_t CudaScratch::Grow(size_t bytes, cudaStream_t stream) {
  if (captured_) of_graphs_.reserve(of_graphs_.size() + 1);
  void* grown = nullptr;
  const cudaError_t error = cudaMallocAsync(&grown, bytes, stream);
  if (error != cudaSuccess) return error;
  if (captured_) {
    of_graphs_.push_back(data_);
  } else if (data_ != nullptr) {
    cudaFreeAsync(data_, stream);
  }
  data_ = grown;
  size_ = bytes;
  captured_ = false;
  return cudaSuccess;
}

}  // namespace mluop
