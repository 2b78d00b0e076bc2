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
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  handle->num_threads = DefaultNumThreads();
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (queue != nullptr && queue->device != handle->device) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: queue must be on the handle's device %s, got a queue of %s", __func__,
                handle->device->name(), queue->device->name());
  }
  if (handle->state != nullptr && queue != handle->queue) {
    const cnrtRet_t result = handle->state->ChangeQueue(handle->queue, queue);
    if (result != cnrtSuccess) {
      return Fail(StatusOf(result), "%s: queue: %s", __func__, cnrtGetErrorStr(result));
    }
  }
  handle->queue = queue;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (queue == nullptr) return FailNull(__func__, "queue");
  *queue = handle->queue;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (atomics_mode != MLUOP_ATOMICS_NOT_ALLOWED && atomics_mode != MLUOP_ATOMICS_ALLOWED) {
    return Fail(MLUOP_STATUS_BAD_PARAM,
                "%s: atomics_mode must be NOT_ALLOWED (1) or ALLOWED (2), got %d", __func__,
                static_cast<int>(atomics_mode));
  }
  handle->atomics_mode = atomics_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t* atomics_mode) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (atomics_mode == nullptr) return FailNull(__func__, "atomics_mode");
  *atomics_mode = handle->atomics_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t round_mode) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (round_mode < MLUOP_ROUND_HALF_TO_EVEN || round_mode > MLUOP_ROUND_HALF_OFF_ZERO) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: round_mode must be 0, 1 or 2, got %d", __func__,
                static_cast<int>(round_mode));
  }
  handle->round_mode = round_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetQuantizeRoundMode(mluOpHandle_t handle,
                                        mluOpQuantizeRoundMode_t* round_mode) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (round_mode == nullptr) return FailNull(__func__, "round_mode");
  *round_mode = handle->round_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetNumThreads(mluOpHandle_t handle, int num_threads) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (num_threads < 1 || num_threads > kMaxThreads) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: num_threads must be in [1, %d], got %d", __func__,
                kMaxThreads, num_threads);
  }
  handle->num_threads = num_threads;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetNumThreads(mluOpHandle_t handle, int* num_threads) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (num_threads == nullptr) return FailNull(__func__, "num_threads");
  *num_threads = handle->num_threads;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetDoubleAllowed(mluOpHandle_t handle, int allowed) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (allowed != 0 && allowed != 1) {
    return Fail(MLUOP_STATUS_BAD_PARAM, "%s: allowed must be 0 or 1, got %d", __func__, allowed);
  }
  handle->double_allowed = allowed != 0;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetDoubleAllowed(mluOpHandle_t handle, int* allowed) {
  if (handle == nullptr) return FailNull(__func__, "handle");
  const HandleGuard guard(*handle, __func__);
  if (!guard.ok()) return MLUOP_STATUS_BAD_PARAM;
  if (allowed == nullptr) return FailNull(__func__, "allowed");
  *allowed = handle->double_allowed ? 1 : 0;
  return MLUOP_STATUS_SUCCESS;
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
