// SPDX-License-Identifier: Apache-2.0
// A device: its memory, its queues, and the kernels it has for an operator. The CPU is one; a CUDA
// device is another, with the same interface from a shared object of its own.
#pragma once

#include <cstddef>
#include <memory>

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

class Device;
struct Operator;
struct OpSpec;
struct Arguments;

}  // namespace mluop

// A queue and a notifier belong to the device that made them, which may hang more behind them.
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

  // The handle goes from one queue to another; what it shares between calls must follow.
  virtual cnrtRet_t ChangeQueue(cnrtQueue_t from, cnrtQueue_t to) = 0;
};

// Bytes that a call wants as its workspace.
using WorkspaceSize = size_t (*)(const Arguments& arguments);

// Failures are statuses only, but for Run's; the callers, which know the name of the function, add
// the sentence.
class Device {
 public:
  // As MLUOP_VISIBLE_DEVICES writes it: "cpu", "cuda:0".
  virtual const char* name() const = 0;

  // The instruction set or architecture that the kernels run on, for people.
  virtual const char* implementation() const = 0;

  virtual bool Has(const Operator& op) const = 0;
  // Runs a validated call of an operator that it has. Leaves the sentence where it fails.
  virtual mluOpStatus_t Run(const Operator& op, const Arguments& arguments,
                            mluOpContext& handle) = 0;
  // For the workspace getter of that table; `on_cpu` is what the CPU answers.
  virtual size_t WorkspaceBytes(const OpSpec& getter, const Arguments& arguments,
                                WorkspaceSize on_cpu) const = 0;
  // For a new handle; may be nothing.
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
  // A queue on a stream of the device's own kind, which stays its maker's.
  virtual cnrtRet_t WrapStream(void* stream, cnrtQueue_t* queue) = 0;

  virtual cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) = 0;
  virtual cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) = 0;
  virtual cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) = 0;
  // Microseconds from `start` to `end`; both are placed, both are this device's.
  virtual cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) = 0;

  // For benchmarks: the microseconds that the device takes for what `enqueue` puts into the queue,
  // recorded once and replayed without the cost of calls; the least of so many replays.
  using Enqueue = mluOpStatus_t (*)(void* context, cnrtQueue_t queue);
  virtual cnrtRet_t TimeReplays(Enqueue enqueue, void* context, int replays, double* us) = 0;
  // For benchmarks: the microseconds that the host takes to launch a kernel that does nothing.
  virtual cnrtRet_t TimeLaunch(double* us) = 0;

 protected:
  ~Device() = default;  // devices live as long as the process
};

Device* CpuDevice();

// The visible devices: those that MLUOP_VISIBLE_DEVICES names; the CPU and every CUDA device where it
// is not set. A wrong MLUOP_VISIBLE_DEVICES gives none, and a sentence that names the
// fault.
struct DeviceList {
  static constexpr int kMaxDevices = 64;
  int count = 0;
  Device* devices[kMaxDevices] = {};
  char fault[400] = "";
  char without_cuda[200] = "";  // why it has no CUDA device, where that was looked for
};
const DeviceList& VisibleDeviceList();

// Parses a list like "cpu,cuda:0"; NULL is the default list. VisibleDeviceList() is this, once, on
// the environment.
DeviceList ParseDevices(const char* text);

// The calling thread's current device; NULL, with the sentence left, where no device is visible.
Device* CurrentDevice(const char* function);

}  // namespace mluop
