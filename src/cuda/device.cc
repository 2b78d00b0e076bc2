// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>

#include "core/error.h"
#include "core/handle.h"
#include "cuda/device_guard.h"

namespace mluop {
namespace {

struct CudaQueue : cnrtQueue {
  cudaStream_t stream;
  bool owned;
};

struct CudaNotifier : cnrtNotifier {
  cudaEvent_t event;
};

cudaEvent_t EventOf(cnrtNotifier_t notifier) { return static_cast<CudaNotifier*>(notifier)->event; }

cnrtRet_t ResultOf(cudaError_t error) {
  if (error == cudaSuccess) return cnrtSuccess;
  static_cast<void>(cudaGetLastError());
  return error == cudaErrorMemoryAllocation ? cnrtErrorNoMem : cnrtErrorUnknown;
}

}  // namespace

cudaStream_t StreamOf(cnrtQueue_t queue) {
  return queue == nullptr ? nullptr : static_cast<CudaQueue*>(queue)->stream;
}

CudaDevice::CudaDevice(int ordinal, std::span<const OpSpec* const> tables)
    : ordinal_(ordinal), tables_(tables) {
  snprintf(name_, sizeof(name_), "cuda:%d", ordinal);
}

const CudaProperties& CudaDevice::properties() const {
  static constexpr int kMaxDevices = 64;
  static std::once_flag once[kMaxDevices];
  static CudaProperties known[kMaxDevices];
  const int slot = std::min(ordinal_, kMaxDevices - 1);
  std::call_once(once[slot], [&] {
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal_);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal_);
    int shared = 0;
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal_);
    known[slot].shared_bytes = static_cast<size_t>(shared);
    known[slot].device = ordinal_;
    cudaDeviceGetAttribute(&known[slot].sm_count, cudaDevAttrMultiProcessorCount, ordinal_);
    snprintf(known[slot].architecture, sizeof(known[slot].architecture), "sm_%d%d", major, minor);
  });
  return known[slot];
}

const char* CudaDevice::architecture() const { return properties().architecture; }

const DeviceIndex<CudaContext>& CudaDevice::Index() const {
  static const DeviceIndex<CudaContext> index(tables_, CudaFamilies());  // the same for all devices
  return index;
}

std::span<const ImplementationInfo> CudaDevice::Implementations(const OpSpec& op) const {
  const CudaOperator* const found = Index().FindOperator(op);
  return found == nullptr ? std::span<const ImplementationInfo>() : found->implementations;
}

template <class Body>
mluOpStatus_t CudaDevice::WithOperator(const Arguments& arguments, mluOpContext& handle,
                                       const Body& body) {
  const std::string_view name = arguments.spec->name;
  const DeviceGuard guard(ordinal_);
  auto& state = static_cast<CudaState&>(*handle.state);
  CudaContext context({name, StreamOf(handle.queue), handle.atomics_mode == MLUOP_ATOMICS_ALLOWED,
                       &properties(), arguments.workspace, &state.scratch, &state.nested});
  try {
    return body(*Index().FindOperator(*arguments.spec), context);
  } catch (...) {
    return FailFromException(name.data());
  }
}

mluOpStatus_t CudaDevice::Run(const Arguments& arguments, mluOpContext& handle) {
  return WithOperator(arguments, handle, [&](const CudaOperator& op, CudaContext& context) {
    return op.run(arguments, context, handle.implementation);
  });
}

mluOpStatus_t CudaDevice::MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) {
  return WithOperator(arguments, handle, [&](const CudaOperator& op, CudaContext& context) {
    return op.plan(arguments, context, handle.implementation, plan);
  });
}

size_t CudaDevice::WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const {
  const DeviceGetter* const found = Index().FindGetter(getter);
  return found == nullptr ? 0 : CudaWorkspaceFor(found->bytes(arguments));
}

cnrtRet_t CudaDevice::CreateState(std::unique_ptr<DeviceState>* state) {
  if (properties().sm_count == 0) return cnrtErrorUnknown;  // the query of its properties failed
  const DeviceGuard guard(ordinal_);
  auto created = std::unique_ptr<CudaState>(new (std::nothrow) CudaState(ordinal_));
  if (created == nullptr) return cnrtErrorNoMem;
  cudaError_t error = created->scratch.Create();
  if (error == cudaSuccess) error = created->nested.Create();
  if (error == cudaSuccess) *state = std::move(created);
  return ResultOf(error);
}

cnrtRet_t CudaDevice::Allocate(void** pointer, size_t bytes) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaMalloc(pointer, std::max<size_t>(bytes, 1)));
}

cnrtRet_t CudaDevice::Free(void* pointer) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaFree(pointer));
}

cnrtRet_t CudaDevice::AllocateHost(void** pointer, size_t bytes) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaMallocHost(pointer, std::max<size_t>(bytes, 1)));
}

cnrtRet_t CudaDevice::FreeHost(void* pointer) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaFreeHost(pointer));
}

cnrtRet_t CudaDevice::Copy(void* to, const void* from, size_t bytes, cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, StreamOf(queue)));
}

cnrtRet_t CudaDevice::Fill(void* pointer, int value, size_t bytes, cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaMemsetAsync(pointer, value, bytes, StreamOf(queue)));
}

cnrtRet_t CudaDevice::Synchronize() {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaDeviceSynchronize());
}

cnrtRet_t CudaDevice::CreateQueue(cnrtQueue_t* queue) {
  const DeviceGuard guard(ordinal_);
  cudaStream_t stream = nullptr;
  const cnrtRet_t made = ResultOf(cudaStreamCreate(&stream));
  if (made != cnrtSuccess) return made;
  const cnrtRet_t wrapped = WrapStream(stream, queue);
  if (wrapped == cnrtSuccess) {
    static_cast<CudaQueue*>(*queue)->owned = true;
  } else {
    cudaStreamDestroy(stream);
  }
  return wrapped;
}

cnrtRet_t CudaDevice::WrapStream(void* stream, cnrtQueue_t* queue) {
  auto* created = new (std::nothrow) CudaQueue;
  if (created == nullptr) return cnrtErrorNoMem;
  created->device = this;
  created->stream = static_cast<cudaStream_t>(stream);
  created->owned = false;
  *queue = created;
  return cnrtSuccess;
}

cnrtRet_t CudaDevice::DestroyQueue(cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  auto* const destroyed = static_cast<CudaQueue*>(queue);
  const cnrtRet_t result =
      destroyed->owned ? ResultOf(cudaStreamDestroy(destroyed->stream)) : cnrtSuccess;
  delete destroyed;
  return result;
}

cnrtRet_t CudaDevice::SynchronizeQueue(cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaStreamSynchronize(StreamOf(queue)));
}

bool CudaDevice::IsCapturing(cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // The query fails on the default stream while another stream captures: a copy would end that
  // capture too.
  const cnrtRet_t result = ResultOf(cudaStreamIsCapturing(StreamOf(queue), &status));
  return result != cnrtSuccess || status != cudaStreamCaptureStatusNone;
}

cnrtRet_t CudaDevice::CreateNotifier(cnrtNotifier_t* notifier) {
  const DeviceGuard guard(ordinal_);
  auto* created = new (std::nothrow) CudaNotifier;
  if (created == nullptr) return cnrtErrorNoMem;
  created->device = this;
  const cnrtRet_t result = ResultOf(cudaEventCreate(&created->event));
  if (result == cnrtSuccess) {
    *notifier = created;
  } else {
    delete created;
  }
  return result;
}

cnrtRet_t CudaDevice::DestroyNotifier(cnrtNotifier_t notifier) {
  const DeviceGuard guard(ordinal_);
  const cnrtRet_t result = ResultOf(cudaEventDestroy(EventOf(notifier)));
  delete static_cast<CudaNotifier*>(notifier);
  return result;
}

cnrtRet_t CudaDevice::PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaEventRecord(EventOf(notifier), StreamOf(queue)));
}

cnrtRet_t CudaDevice::WaitNotifier(cnrtNotifier_t notifier) {
  const DeviceGuard guard(ordinal_);
  return ResultOf(cudaEventSynchronize(EventOf(notifier)));
}

cnrtRet_t CudaDevice::Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) {
  const DeviceGuard guard(ordinal_);
  float milliseconds = 0;
  cudaError_t error = cudaEventSynchronize(EventOf(end));
  if (error == cudaSuccess)
    error = cudaEventElapsedTime(&milliseconds, EventOf(start), EventOf(end));
  *us = 1e3 * static_cast<double>(milliseconds);
  return ResultOf(error);
}

}  // namespace mluop
