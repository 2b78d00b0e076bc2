// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <type_traits>

#include "core/call_steps.h"
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

// Calls a function of the CUDA runtime with `device` as the thread's current device.
template <typename... Parameters>
cnrtRet_t CallOn(int device, cudaError_t (*function)(Parameters...),
                 std::type_identity_t<Parameters>... values) {
  const DeviceGuard guard(device);
  return ResultOf(function(values...));
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
    const auto attribute = [&](cudaDeviceAttr name) {
      int value = 0;
      cudaDeviceGetAttribute(&value, name, ordinal_);
      return value;
    };
    CudaProperties& p = known[slot];
    p.device = ordinal_;
    p.sm_count = attribute(cudaDevAttrMultiProcessorCount);
    p.shared_bytes = static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    snprintf(p.architecture, sizeof(p.architecture), "sm_%d%d",
             attribute(cudaDevAttrComputeCapabilityMajor),
             attribute(cudaDevAttrComputeCapabilityMinor));
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
  CallSteps::Clear();
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

std::string CudaDevice::CallCounters() const {
  return CallSteps::Text("launch of %lld blocks, threads %lld, dynamic shared memory %lld bytes");
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
  return CallOn(ordinal_, cudaMalloc, pointer, std::max<size_t>(bytes, 1));
}
cnrtRet_t CudaDevice::Free(void* pointer) { return CallOn(ordinal_, cudaFree, pointer); }

cnrtRet_t CudaDevice::AllocateHost(void** pointer, size_t bytes) {
  return CallOn(ordinal_, cudaMallocHost, pointer, std::max<size_t>(bytes, 1));
}
cnrtRet_t CudaDevice::FreeHost(void* pointer) { return CallOn(ordinal_, cudaFreeHost, pointer); }

cnrtRet_t CudaDevice::Copy(void* to, const void* from, size_t bytes, cnrtQueue_t queue) {
  return CallOn(ordinal_, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, StreamOf(queue));
}
cnrtRet_t CudaDevice::Fill(void* pointer, int value, size_t bytes, cnrtQueue_t queue) {
  return CallOn(ordinal_, cudaMemsetAsync, pointer, value, bytes, StreamOf(queue));
}
cnrtRet_t CudaDevice::Synchronize() { return CallOn(ordinal_, cudaDeviceSynchronize); }

cnrtRet_t CudaDevice::CreateQueue(cnrtQueue_t* queue) {
  cudaStream_t stream = nullptr;
  const cnrtRet_t made = CallOn(ordinal_, cudaStreamCreate, &stream);
  if (made != cnrtSuccess) return made;
  const cnrtRet_t wrapped = WrapStream(stream, queue);
  if (wrapped == cnrtSuccess) {
    static_cast<CudaQueue*>(*queue)->owned = true;
  } else {
    CallOn(ordinal_, cudaStreamDestroy, stream);
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
  const std::unique_ptr<CudaQueue> destroyed(static_cast<CudaQueue*>(queue));
  if (!destroyed->owned) return cnrtSuccess;
  return CallOn(ordinal_, cudaStreamDestroy, destroyed->stream);
}

cnrtRet_t CudaDevice::SynchronizeQueue(cnrtQueue_t queue) {
  return CallOn(ordinal_, cudaStreamSynchronize, StreamOf(queue));
}

bool CudaDevice::IsCapturing(cnrtQueue_t queue) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // The query fails on the default stream while another stream captures: a copy would end that
  // capture too.
  const cnrtRet_t result = CallOn(ordinal_, cudaStreamIsCapturing, StreamOf(queue), &status);
  return result != cnrtSuccess || status != cudaStreamCaptureStatusNone;
}

cnrtRet_t CudaDevice::CreateNotifier(cnrtNotifier_t* notifier) {
  std::unique_ptr<CudaNotifier> created(new (std::nothrow) CudaNotifier);
  if (created == nullptr) return cnrtErrorNoMem;
  created->device = this;
  const cnrtRet_t result = CallOn(ordinal_, cudaEventCreate, &created->event);
  if (result == cnrtSuccess) *notifier = created.release();
  return result;
}

cnrtRet_t CudaDevice::DestroyNotifier(cnrtNotifier_t notifier) {
  const std::unique_ptr<CudaNotifier> destroyed(static_cast<CudaNotifier*>(notifier));
  return CallOn(ordinal_, cudaEventDestroy, destroyed->event);
}

cnrtRet_t CudaDevice::PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
  return CallOn(ordinal_, cudaEventRecord, EventOf(notifier), StreamOf(queue));
}
cnrtRet_t CudaDevice::WaitNotifier(cnrtNotifier_t notifier) {
  return CallOn(ordinal_, cudaEventSynchronize, EventOf(notifier));
}

cnrtRet_t CudaDevice::Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) {
  float milliseconds = 0;
  cnrtRet_t result = WaitNotifier(end);
  if (result == cnrtSuccess) {
    result = CallOn(ordinal_, cudaEventElapsedTime, &milliseconds, EventOf(start), EventOf(end));
  }
  *us = 1e3 * static_cast<double>(milliseconds);
  return result;
}

}  // namespace mluop
