// SPDX-License-Identifier: Apache-2.0
// Scratch of a handle on a CUDA device: kept from call to call, grown when a call wants more. Growth
// is ordered by the stream and waits for nothing.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "core/device.h"

namespace mluop {

// The stream of a queue; NULL is the legacy default stream.
cudaStream_t StreamOf(cnrtQueue_t queue);

class CudaScratch final : public DeviceState {
 public:
  explicit CudaScratch(int device) : device_(device) {}
  ~CudaScratch() override;

  // Makes what it needs on the current device.
  cudaError_t Create();

  // The next use, on another stream, comes after those on the one before.
  cnrtRet_t ChangeQueue(cnrtQueue_t from, cnrtQueue_t to) override;

  // At least `bytes`, for work on `stream`. Cannot grow while the stream is captured
  // (cudaErrorStreamCaptureUnsupported): a graph would own the memory. What a graph has seen lives
  // as long as the handle.
  cudaError_t Reserve(size_t bytes, cudaStream_t stream, void** data);

 private:
  cudaError_t Grow(size_t bytes, cudaStream_t stream);

  int device_;
  void* data_ = nullptr;
  size_t size_ = 0;
  bool captured_ = false;          // a graph uses data_
  std::vector<void*> of_graphs_;   // blocks that were outgrown, and graphs use
  cudaStream_t stream_ = nullptr;  // of the last use
  bool used_ = false;              // since the last change of queue
  bool behind_ = false;            // the next use has to wait for last_use_
  bool owed_ = false;              // last_use_ has yet to be recorded, on the default stream
  cudaEvent_t last_use_ = nullptr;
};

}  // namespace mluop
