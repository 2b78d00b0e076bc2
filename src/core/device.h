// SPDX-License-Identifier: Apache-2.0
// A device: its memory, its queues and its implementations of the operators. The CPU is part of
// this library; every other kind is a shared library that is loaded on first use.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

class Device;
struct Arguments;
struct OpSpec;
struct Plan;

struct ImplementationInfo {
  std::string_view name;
  bool beyond_32_bits = false;  // see core/implementation.h
};

}  // namespace mluop

// A queue and a notifier belong to the device that created them. Devices may derive from these.
struct cnrtQueue {
  mluop::Device* device;
};
struct cnrtNotifier {
  mluop::Device* device;
  bool placed = false;
};

namespace mluop {

// The state that a device keeps for a handle between calls.
class DeviceState {
 public:
  virtual ~DeviceState() = default;

  // Called when the handle changes its queue. Work on `to` must wait for scratch in use on `from`.
  virtual cnrtRet_t ChangeQueue(cnrtQueue_t /*from*/, cnrtQueue_t /*to*/) { return cnrtSuccess; }
};

// Run and MakePlan set an error message on failure. The other functions return a status only: their
// callers know the name of the C function and set the message.
class Device {
 public:
  // Returns the name in MLUOP_VISIBLE_DEVICES: "cpu", "cuda:0".
  virtual const char* name() const = 0;

  // Returns the instruction set or architecture of the kernels, for display.
  virtual const char* architecture() const = 0;
  // Returns true if a call is complete when it returns.
  virtual bool is_synchronous() const = 0;
  // Returns whether SynchronizeQueue and Synchronize set the error message of a launch that failed.
  virtual bool sets_queue_messages() const { return false; }
  // Returns whether the device is simulated: it counts operations, and its times have no meaning.
  virtual bool counts_only() const { return false; }
  // Returns how the thread's last call ran, a line per counter, loop or launch; empty: unknown.
  virtual std::string CallCounters() const { return {}; }

  // Returns the operator's implementations, in order of preference; empty: not supported.
  virtual std::span<const ImplementationInfo> Implementations(const OpSpec& op) const = 0;
  // Runs a validated call of an operator that the device supports.
  virtual mluOpStatus_t Run(const Arguments& arguments, mluOpContext& handle) = 0;
  // Fills the plan that Run would use.
  virtual mluOpStatus_t MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) = 0;
  // Returns the workspace size that `getter` returns.
  virtual size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments) const = 0;
  // Creates the state of a new handle; it may be NULL.
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
  // Returns whether calls on the queue are captured into a graph instead of being run.
  virtual bool IsCapturing(cnrtQueue_t /*queue*/) { return false; }
  // Wraps an existing stream as a queue, which does not own the stream.
  virtual cnrtRet_t WrapStream(void* stream, cnrtQueue_t* queue) = 0;

  virtual cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) = 0;
  virtual cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) = 0;
  virtual cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) = 0;
  // Writes the microseconds from `start` to `end`. Both are placed and belong to this device.
  virtual cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) = 0;

 protected:
  ~Device() = default;  // devices live as long as the process
};

// Returns the CPU device, which is always available. Defined in src/cpu.
Device* CpuDevice();

// The visible devices: the list in MLUOP_VISIBLE_DEVICES, or the CPU and all CUDA devices if it is
// not set. An invalid MLUOP_VISIBLE_DEVICES makes the list empty, and `error` holds the reason.
struct DeviceList {
  static constexpr int kMaxDevices = 64;
  int count = 0;
  Device* devices[kMaxDevices] = {};
  char error[400] = "";
  char library_error[200] = "";  // why the default list has only the CPU
};
const DeviceList& VisibleDeviceList();

// Parses a list like "cpu,cuda:0"; NULL and "" give the default list. VisibleDeviceList() parses
// MLUOP_VISIBLE_DEVICES once.
DeviceList ParseDevices(const char* text);

// Returns the calling thread's current device; NULL, with an error message, if none is visible.
Device* CurrentDevice(const char* function);

}  // namespace mluop
