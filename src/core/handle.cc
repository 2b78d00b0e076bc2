// SPDX-License-Identifier: Apache-2.0
// Handles, and functions that concern the whole library.
#include "core/handle.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "core/error.h"
#include "mluops/extensions.h"

namespace mluop {

HandleGuard::HandleGuard(mluOpContext& handle, std::string_view function)
    : handle_(handle), ok_(!handle.in_use.exchange(true, std::memory_order_acquire)) {
  if (ok_) return;
  static_cast<void>(Fail(MLUOP_STATUS_BAD_PARAM,
                         "%.*s: handle must be used by one thread at a time, got a call while "
                         "another is running",
                         MLUOP_SV(function)));
}

namespace {

// Calls action() with the handle reserved for it.
template <class Action>
mluOpStatus_t WithHandle(const char* function, mluOpHandle_t handle, Action action) {
  if (handle == nullptr) return FailNull(function, "handle");
  const HandleGuard guard(*handle, function);
  return guard.ok() ? action() : MLUOP_STATUS_BAD_PARAM;
}

// Copies a field of the handle to *out. `name` is the name of the argument.
template <class Field, class Out>
mluOpStatus_t Get(const char* function, mluOpHandle_t handle, Field mluOpContext::*field,
                  const char* name, Out* out) {
  return WithHandle(function, handle, [&] {
    if (out == nullptr) return FailNull(function, name);
    *out = handle->*field;
    return MLUOP_STATUS_SUCCESS;
  });
}

// The legal values of a setting, and the rule in the error message.
struct Range {
  int first, last;
  const char* rule;
};

template <class Field, class Value>
mluOpStatus_t Set(const char* function, mluOpHandle_t handle, Field mluOpContext::*field,
                  const char* name, Value value, const Range& range) {
  return WithHandle(function, handle, [&] {
    const int number = static_cast<int>(value);
    if (number < range.first || number > range.last) {
      return Fail(MLUOP_STATUS_BAD_PARAM, "%s: %s must be %s, got %d", function, name, range.rule,
                  number);
    }
    handle->*field = static_cast<Field>(value);
    return MLUOP_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace mluop

using namespace mluop;

void mluOpGetLibVersion(int* major, int* minor, int* patch) {
  if (major != nullptr) *major = MLUOP_MAJOR;
  if (minor != nullptr) *minor = MLUOP_MINOR;
  if (patch != nullptr) *patch = MLUOP_PATCHLEVEL;
}

mluOpStatus_t mluOpCreate(mluOpHandle_t* handle) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  Device* const device = CurrentDevice(__func__);
  if (device == nullptr) return MLUOP_STATUS_NOT_INITIALIZED;
  auto* created = new (std::nothrow) mluOpContext(device);
  if (created == nullptr) return Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", __func__);
  const cnrtRet_t result = device->CreateState(&created->state);
  if (result != cnrtSuccess) {
    delete created;
    return Fail(StatusOf(result), "%s: %s: %s", __func__, device->name(), cnrtGetErrorStr(result));
  }
  *handle = created;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroy(mluOpHandle_t handle) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  delete handle;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpUpdateContextInformation(mluOpHandle_t handle) {
  return WithHandle(__func__, handle, [&] {
    handle->num_threads = DefaultNumThreads();
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue) {
  const char* const function = __func__;  // inside the lambda it names the lambda
  return WithHandle(function, handle, [&] {
    if (queue != nullptr && queue->device != handle->device) {
      return Fail(MLUOP_STATUS_BAD_PARAM,
                  "%s: queue must be on the handle's device %s, got a queue of %s", function,
                  handle->device->name(), queue->device->name());
    }
    if (handle->state != nullptr && queue != handle->queue) {
      const cnrtRet_t result = handle->state->ChangeQueue(handle->queue, queue);
      if (result != cnrtSuccess) {
        return Fail(StatusOf(result), "%s: queue: %s", function, cnrtGetErrorStr(result));
      }
    }
    handle->queue = queue;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue) {
  return Get(__func__, handle, &mluOpContext::queue, "queue", queue);
}

mluOpStatus_t mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode) {
  return Set(__func__, handle, &mluOpContext::atomics_mode, "atomics_mode", atomics_mode,
             {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED, "NOT_ALLOWED (1) or ALLOWED (2)"});
}

mluOpStatus_t mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t* atomics_mode) {
  return Get(__func__, handle, &mluOpContext::atomics_mode, "atomics_mode", atomics_mode);
}

mluOpStatus_t mluOpSetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t round_mode) {
  return Set(__func__, handle, &mluOpContext::round_mode, "round_mode", round_mode,
             {MLUOP_ROUND_HALF_TO_EVEN, MLUOP_ROUND_HALF_OFF_ZERO, "0, 1 or 2"});
}

mluOpStatus_t mluOpGetQuantizeRoundMode(mluOpHandle_t handle,
                                        mluOpQuantizeRoundMode_t* round_mode) {
  return Get(__func__, handle, &mluOpContext::round_mode, "round_mode", round_mode);
}

mluOpStatus_t mluOpSetNumThreads(mluOpHandle_t handle, int num_threads) {
  static_assert(kMaxThreads == 1024);
  return Set(__func__, handle, &mluOpContext::num_threads, "num_threads", num_threads,
             {1, kMaxThreads, "in [1, 1024]"});
}

mluOpStatus_t mluOpGetNumThreads(mluOpHandle_t handle, int* num_threads) {
  return Get(__func__, handle, &mluOpContext::num_threads, "num_threads", num_threads);
}

mluOpStatus_t mluOpSetDoubleAllowed(mluOpHandle_t handle, int allowed) {
  return Set(__func__, handle, &mluOpContext::double_allowed, "allowed", allowed, {0, 1, "0 or 1"});
}

mluOpStatus_t mluOpGetDoubleAllowed(mluOpHandle_t handle, int* allowed) {
  return Get(__func__, handle, &mluOpContext::double_allowed, "allowed", allowed);
}

mluOpStatus_t mluOpCreateQueueFromCudaStream(cnrtQueue_t* queue, int cuda_device, void* stream) {
  if (queue == nullptr) return FailNull(__func__, "queue");
  char name[24];
  snprintf(name, sizeof(name), "cuda:%d", cuda_device);
  const DeviceList& list = VisibleDeviceList();
  for (int i = 0; i < list.count; ++i) {
    if (std::strcmp(list.devices[i]->name(), name) != 0) continue;
    const cnrtRet_t result = list.devices[i]->WrapStream(stream, queue);
    if (result == cnrtSuccess) return MLUOP_STATUS_SUCCESS;
    return Fail(StatusOf(result), "%s: %s: %s", __func__, name, cnrtGetErrorStr(result));
  }
  const char* const cause = list.error[0] != '\0' ? list.error : list.library_error;
  return Fail(MLUOP_STATUS_NOT_SUPPORTED,
              "%s: cuda_device must be the number of a visible CUDA device%s%s%s, got %d", __func__,
              cause[0] == '\0' ? "" : " (", cause, cause[0] == '\0' ? "" : ")", cuda_device);
}
