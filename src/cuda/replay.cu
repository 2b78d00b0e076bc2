// SPDX-License-Identifier: Apache-2.0
// For benchmarks: timing by graph replay, and what a launch costs the host.
#include <algorithm>
#include <chrono>

#include "cuda/device.h"
#include "cuda/device_guard.h"

namespace mluop {
namespace {

__global__ void Nothing() {}

// Records what `enqueue` does. The queue's stream captures for this thread alone.
cudaError_t Record(Device::Enqueue enqueue, void* context, cnrtQueue_t queue,
                   cudaGraphExec_t* executable) {
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaStreamBeginCapture(StreamOf(queue), cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  const mluOpStatus_t status = enqueue(context, queue);
  error = cudaStreamEndCapture(StreamOf(queue), &graph);
  if (error == cudaSuccess && status != MLUOP_STATUS_SUCCESS) error = cudaErrorUnknown;
  if (error == cudaSuccess) error = cudaGraphInstantiate(executable, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return error;
}

cudaError_t TimeGraph(cudaGraphExec_t graph, cudaStream_t stream, int replays, double* us) {
  cudaEvent_t start = nullptr, end = nullptr;
  cudaError_t error = cudaEventCreate(&start);
  if (error == cudaSuccess) error = cudaEventCreate(&end);
  for (int i = 0; i <= replays && error == cudaSuccess; ++i) {  // the first one does not count
    float milliseconds = 0;
    error = cudaEventRecord(start, stream);
    if (error == cudaSuccess) error = cudaGraphLaunch(graph, stream);
    if (error == cudaSuccess) error = cudaEventRecord(end, stream);
    if (error == cudaSuccess) error = cudaEventSynchronize(end);
    if (error == cudaSuccess) error = cudaEventElapsedTime(&milliseconds, start, end);
    const double time = 1e3 * static_cast<double>(milliseconds);
    *us = i <= 1 ? time : std::min(*us, time);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return error;
}

}  // namespace

cnrtRet_t CudaDevice::TimeReplays(Enqueue enqueue, void* context, int replays, double* us) {
  const DeviceGuard guard(ordinal_);
  cnrtQueue_t queue = nullptr;
  const cnrtRet_t result = CreateQueue(&queue);
  if (result != cnrtSuccess) return result;
  cudaGraphExec_t graph = nullptr;
  cudaError_t error = Record(enqueue, context, queue, &graph);
  if (error == cudaSuccess) error = TimeGraph(graph, StreamOf(queue), replays, us);
  if (graph != nullptr) cudaGraphExecDestroy(graph);
  DestroyQueue(queue);
  static_cast<void>(cudaGetLastError());
  return error == cudaSuccess ? cnrtSuccess : cnrtErrorUnknown;
}

cnrtRet_t CudaDevice::TimeLaunch(double* us) {
  using Clock = std::chrono::steady_clock;
  constexpr int kBatches = 10, kLaunches = 100;  // fewer than the driver lets wait
  const DeviceGuard guard(ordinal_);
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) Nothing<<<1, 32>>>();
    if (cudaGetLastError() != cudaSuccess) return cnrtErrorUnknown;
    const double time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    *us = batch == 0 ? time / kLaunches : std::min(*us, time / kLaunches);
    const cnrtRet_t result = Synchronize();
    if (result != cnrtSuccess) return result;
  }
  return cnrtSuccess;
}

}  // namespace mluop
