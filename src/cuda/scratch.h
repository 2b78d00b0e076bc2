// SPDX-License-Identifier: Apache-2.0
// Scratch of a handle on a CUDA device: kept between calls, grown when a call needs more. Growth is
// stream-ordered and does not synchronise.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "core/device.h"

namespace mluop {

// Returns the stream of a queue; NULL is the legacy default stream.
cudaStream_t StreamOf(cnrtQueue_t queue);

class CudaScratch {
 public:
  explicit CudaScratch(int device) : device_(device) {}
  ~CudaScratch();
  CudaScratch(const CudaScratch&) = delete;
  CudaScratch& operator=(const CudaScratch&) = delete;

  // Creates its event on the current device.
  cudaError_t Create();

  // Orders the next use, on another stream, after the uses so far.
  cnrtRet_t ChangeQueue();

  // Returns at least `bytes` for work on `stream`. Cannot grow while the stream is captured
  // (cudaErrorStreamCaptureUnsupported), because the graph would own the memory. Blocks that a
  // graph uses live until the handle is destroyed.
  cudaError_t Reserve(size_t bytes, cudaStream_t stream, void** data);

 private:
  cudaError_t Grow(size_t bytes, cudaStream_t stream);

  int device_;
  void* data_ = nullptr;
  size_t size_ = 0;
  bool captured_ = false;            // a graph uses data_
  std::vector<void*> graph_blocks_;  // replaced blocks that graphs still use
  cudaStream_t stream_ = nullptr;    // stream of the last use
  bool used_ = false;                // used since the last change of queue
  bool must_wait_ = false;           // the next use must wait for last_use_
  bool record_pending_ = false;      // last_use_ must still be recorded on the default stream
  cudaEvent_t last_use_ = nullptr;
};

struct CudaState final : DeviceState {
  explicit CudaState(int device) : scratch(device), nested(device) {}

  cnrtRet_t ChangeQueue(cnrtQueue_t, cnrtQueue_t) override {
    const cnrtRet_t result = scratch.ChangeQueue();
    return result == cnrtSuccess ? nested.ChangeQueue() : result;
  }

  CudaScratch scratch;
  CudaScratch nested;  // of operators that an implementation calls
};

}  // namespace mluop
