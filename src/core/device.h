// SPDX-License-Identifier: Apache-2.0
// A device: its memory, its queues, and the implementations it has of an operator. The CPU is part
// of this library; every other kind is a shared object that is loaded on first use.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

class Device;
struct Arguments;
struct OpSpec;
struct Plan;

}  // namespace mluop

// A queue and a notifier belong to the device that made them, which may derive from these.
struct cnrtQueue {
  mluop::Device* device;
};
struct cnrtNotifier {
  mluop::Device* device;
  bool placed = false;
};

namespace mluop {

// What a device keeps for a handle from call to call.
class DeviceState {
 public:
  virtual ~DeviceState() = default;

  // The handle changes its queue: scratch that calls on `from` still use must be waited for.
  virtual cnrtRet_t ChangeQueue(cnrtQueue_t /*from*/, cnrtQueue_t /*to*/) { return cnrtSuccess; }
};

// Failures are statuses only, except for Run and MakePlan, which leave an error message too. The
// callers know the name of the C function and add the message.
class Device {
 public:
  // As MLUOP_VISIBLE_DEVICES writes it: "cpu", "cuda:0".
  virtual const char* name() const = 0;

  // The instruction set or architecture that the kernels run on, for people.
  virtual const char* architecture() const = 0;
  // Whether a call is complete when it returns.
  virtual bool is_synchronous() const = 0;

  // The names of the operator's implementations, in order of preference; none: not supported.
  virtual std::span<const std::string_view> Implementations(const OpSpec& op) const = 0;
  // Runs a validated call of an operator that it has.
  virtual mluOpStatus_t Run(const Arguments& arguments, mluOpContext& handle) = 0;
  // Says what Run would do.
  virtual mluOpStatus_t MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) = 0;
  // The workspace size for the getter of that table.
  virtual size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const = 0;
  // The state of a new handle; may be NULL.
  virtual cnrtRet_t CreateState(std::unique_ptr<DeviceState>* state) = 0;

  virtual cnrtRet_t Allocate(void** pointer, size_t bytes) = 0;
  virtual cnrtRet_t Free(void* pointer) = 0;
  virtual cnrtRet_t AllocateHost(void** pointer, size_t bytes) = 0;
  virtual cnrtRet_t FreeHost(void* pointer) = 0;
  virtual cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t Synchronize() = 0;

  virtual cnrtRet_t CreateQueue(cnrtQueue_t* queue) = 0;
  virtual cnrtRet_t DestroyQueue(cnrtQueue_t queue) = 0;
  virtual cnrtRet_t SynchronizeQueue(cnrtQueue_t queue) = 0;
  // A queue on a stream of the device's kind. The stream stays its maker's.
  virtual cnrtRet_t WrapStream(void* stream, cnrtQueue_t* queue) = 0;

  virtual cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) = 0;
  virtual cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) = 0;
  virtual cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) = 0;
  // Microseconds from `start` to `end`; both are placed, both are this device's.
  virtual cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) = 0;

 protected:
  ~Device() = default;  // devices live as long as the process
};

// The device that is always there. src/cpu defines it.
Device* CpuDevice();

// The visible devices: those that MLUOP_VISIBLE_DEVICES names, or the CPU and all CUDA devices where
// it is not set. A wrong MLUOP_VISIBLE_DEVICES gives no device, and `fault` says why.
struct DeviceList {
  static constexpr int kMaxDevices = 64;
  int count = 0;
  Device* devices[kMaxDevices] = {};
  char fault[400] = "";
  char library_fault[200] = "";  // why the default list has only the CPU
};
const DeviceList& VisibleDeviceList();

// Parses a list like "cpu,cuda:0"; NULL is the default list. VisibleDeviceList() is this, once, on
// the environment.
DeviceList ParseDevices(const char* text);

// The calling thread's current device; NULL, with an error message, where no device is visible.
Device* CurrentDevice(const char* function);

}  // namespace mluop
