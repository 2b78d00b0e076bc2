// SPDX-License-Identifier: Apache-2.0
// The CNRT functions. They check their arguments and call the device.
#include "mluops/runtime.h"

#include "core/device.h"
#include "core/error.h"

namespace mluop {
namespace {

// Returns the device of a queue; the thread's current device for the default queue.
Device* DeviceOf(const char* function, cnrtQueue_t queue) {
  return queue != nullptr ? queue->device : CurrentDevice(function);
}

// Sets the error message of a device's result and returns the result.
cnrtRet_t Report(const char* function, cnrtRet_t result) {
  if (result == cnrtSuccess) return result;
  return Fail(result, "%s: %s", function, cnrtGetErrorStr(result));
}

// Calls action(device) on the current device and reports its result.
template <class Action>
cnrtRet_t OnCurrentDevice(const char* function, Action action) {
  Device* const device = CurrentDevice(function);
  return device == nullptr ? cnrtErrorNoDevice : Report(function, action(*device));
}

// Reports the result of waiting for a device's work.
cnrtRet_t ReportWait(const char* function, const Device& device, cnrtRet_t result) {
  return device.sets_queue_messages() ? result : Report(function, result);
}

cnrtRet_t CopyOn(const char* function, Device* device, void* to, const void* from, size_t bytes,
                 cnrtQueue_t queue, cnrtMemTransDir_t direction) {
  if (direction < cnrtMemcpyHostToDev || direction > cnrtMemcpyNoDirection) {
    return Fail(cnrtErrorArgsInvalid, "%s: dir must be a cnrtMemTransDir_t, got %d", function,
                static_cast<int>(direction));
  }
  if (device == nullptr) return cnrtErrorNoDevice;
  if (bytes == 0) return cnrtSuccess;
  if (to == nullptr) return FailNullRuntime(function, "dst");
  if (from == nullptr) return FailNullRuntime(function, "src");
  return Report(function, device->Copy(to, from, bytes, queue));
}

cnrtRet_t FillOn(const char* function, Device* device, void* pointer, int value, size_t bytes,
                 cnrtQueue_t queue) {
  if (device == nullptr) return cnrtErrorNoDevice;
  if (bytes == 0) return cnrtSuccess;
  if (pointer == nullptr) return FailNullRuntime(function, "ptr");
  return Report(function, device->Fill(pointer, value, bytes, queue));
}

// Writes the time between two notifiers in units of `unit` microseconds. `name`: of the argument.
cnrtRet_t Elapsed(const char* function, cnrtNotifier_t start, cnrtNotifier_t end, double unit,
                  const char* name, float* elapsed) {
  if (elapsed == nullptr) return FailNullRuntime(function, name);
  if (start == nullptr) return FailNullRuntime(function, "start");
  if (end == nullptr) return FailNullRuntime(function, "end");
  if (!start->placed || !end->placed) {
    return Fail(cnrtErrorArgsInvalid, "%s: %s must be a placed notifier, got an unplaced one",
                function, start->placed ? "end" : "start");
  }
  if (start->device != end->device) {
    return Fail(cnrtErrorArgsInvalid, "%s: end must be a notifier of start's device %s, got %s",
                function, start->device->name(), end->device->name());
  }
  double us = 0;
  const cnrtRet_t result = start->device->Duration(start, end, &us);
  if (result == cnrtSuccess) *elapsed = static_cast<float>(us / unit);
  return Report(function, result);
}

}  // namespace

}  // namespace mluop

using namespace mluop;

const char* cnrtGetErrorName(cnrtRet_t error) {
  switch (error) {
    case cnrtSuccess: return "cnrtSuccess";
    case cnrtErrorArgsInvalid: return "cnrtErrorArgsInvalid";
    case cnrtErrorNoDevice: return "cnrtErrorNoDevice";
    case cnrtErrorNoMem: return "cnrtErrorNoMem";
    case cnrtErrorUnknown: return "cnrtErrorUnknown";
  }
  return "cnrtErrorUnknown";
}

const char* cnrtGetErrorStr(cnrtRet_t error) {
  switch (error) {
    case cnrtSuccess: return "cnrtSuccess: no error";
    case cnrtErrorArgsInvalid: return "cnrtErrorArgsInvalid: an argument violates a rule";
    case cnrtErrorNoDevice: return "cnrtErrorNoDevice: no device is visible";
    case cnrtErrorNoMem: return "cnrtErrorNoMem: out of memory";
    case cnrtErrorUnknown: return "cnrtErrorUnknown: unknown error";
  }
  return "unknown error";
}

cnrtRet_t cnrtSyncDevice() {
  Device* const device = CurrentDevice(__func__);
  if (device == nullptr) return cnrtErrorNoDevice;
  return ReportWait(__func__, *device, device->Synchronize());
}

cnrtRet_t cnrtMalloc(void** ptr, size_t bytes) {
  if (ptr == nullptr) return FailNullRuntime(__func__, "ptr");
  return OnCurrentDevice(__func__, [&](Device& device) { return device.Allocate(ptr, bytes); });
}

cnrtRet_t cnrtFree(void* ptr) {
  return OnCurrentDevice(__func__, [&](Device& device) { return device.Free(ptr); });
}

cnrtRet_t cnrtHostMalloc(void** ptr, size_t bytes) {
  if (ptr == nullptr) return FailNullRuntime(__func__, "ptr");
  return OnCurrentDevice(__func__, [&](Device& device) { return device.AllocateHost(ptr, bytes); });
}

cnrtRet_t cnrtFreeHost(void* ptr) {
  return OnCurrentDevice(__func__, [&](Device& device) { return device.FreeHost(ptr); });
}

cnrtRet_t cnrtHostFree(void* ptr) { return cnrtFreeHost(ptr); }

cnrtRet_t cnrtMemcpy(void* dst, void* src, size_t bytes, cnrtMemTransDir_t dir) {
  Device* const device = CurrentDevice(__func__);
  const cnrtRet_t result = CopyOn(__func__, device, dst, src, bytes, nullptr, dir);
  if (result != cnrtSuccess) return result;
  return ReportWait(__func__, *device, device->SynchronizeQueue(nullptr));
}

cnrtRet_t cnrtMemcpyAsync(void* dst, void* src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t dir) {
  return CopyOn(__func__, DeviceOf(__func__, queue), dst, src, bytes, queue, dir);
}

cnrtRet_t cnrtMemset(void* ptr, int value, size_t bytes) {
  Device* const device = CurrentDevice(__func__);
  const cnrtRet_t result = FillOn(__func__, device, ptr, value, bytes, nullptr);
  if (result != cnrtSuccess) return result;
  return ReportWait(__func__, *device, device->SynchronizeQueue(nullptr));
}

cnrtRet_t cnrtMemsetAsync(void* ptr, int value, size_t bytes, cnrtQueue_t queue) {
  return FillOn(__func__, DeviceOf(__func__, queue), ptr, value, bytes, queue);
}

cnrtRet_t cnrtQueueCreate(cnrtQueue_t* queue) {
  if (queue == nullptr) return FailNullRuntime(__func__, "queue");
  return OnCurrentDevice(__func__, [&](Device& device) { return device.CreateQueue(queue); });
}

cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue) {
  if (queue == nullptr) return FailNullRuntime(__func__, "queue");
  return Report(__func__, queue->device->DestroyQueue(queue));
}

cnrtRet_t cnrtQueueSync(cnrtQueue_t queue) {
  Device* const device = DeviceOf(__func__, queue);
  if (device == nullptr) return cnrtErrorNoDevice;
  return ReportWait(__func__, *device, device->SynchronizeQueue(queue));
}

cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t* notifier) {
  if (notifier == nullptr) return FailNullRuntime(__func__, "notifier");
  return OnCurrentDevice(__func__, [&](Device& device) { return device.CreateNotifier(notifier); });
}

cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier) {
  if (notifier == nullptr) return FailNullRuntime(__func__, "notifier");
  return Report(__func__, notifier->device->DestroyNotifier(notifier));
}

cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
  if (notifier == nullptr) return FailNullRuntime(__func__, "notifier");
  if (queue != nullptr && queue->device != notifier->device) {
    return Fail(cnrtErrorArgsInvalid, "%s: queue must be on the notifier's device %s, got %s",
                __func__, notifier->device->name(), queue->device->name());
  }
  const cnrtRet_t result = notifier->device->PlaceNotifier(notifier, queue);
  notifier->placed |= result == cnrtSuccess;
  return Report(__func__, result);
}

cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier) {
  if (notifier == nullptr) return FailNullRuntime(__func__, "notifier");
  return Report(__func__, notifier->device->WaitNotifier(notifier));
}

cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float* us) {
  return Elapsed(__func__, start, end, /*unit=*/1, "us", us);
}

cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float* ms) {
  return Elapsed(__func__, start, end, /*unit=*/1000, "ms", ms);
}
