// SPDX-License-Identifier: Apache-2.0
// A device: its memory, its queues, and the kernels it has for an operator. The CPU is one; a CUDA
// device is another, with the same interface from a shared object of its own.
#pragma once

#include <cstddef>

#include "mlu_op.h"
#include "mluops/runtime.h"

namespace mluop {

class Device;
struct Operator;
struct Arguments;
class Context;

// Runs a validated call. Checks nothing again.
using Kernel = mluOpStatus_t (*)(const Arguments& arguments, Context& context);

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

// Failures are statuses only; the callers, which know the name of the function, add the sentence.
class Device {
 public:
  // As MLUOP_VISIBLE_DEVICES writes it: "cpu", "cuda:0".
  virtual const char* name() const = 0;

  // NULL where this device has none for the operator.
  virtual Kernel FindKernel(const Operator& op) const = 0;

  // The instruction set or architecture that the kernels run on, for people.
  virtual const char* implementation() const = 0;

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

  virtual cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) = 0;
  virtual cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) = 0;
  virtual cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) = 0;
  virtual cnrtRet_t WaitNotifier(cnrtNotifier_t notifier) = 0;
  // Microseconds from `start` to `end`; both are placed, both are this device's.
  virtual cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) = 0;

 protected:
  ~Device() = default;  // devices live as long as the process
};

Device* CpuDevice();

// The visible devices. A wrong MLUOP_VISIBLE_DEVICES gives none, and a sentence that names the
// fault.
struct DeviceList {
  static constexpr int kMaxDevices = 64;
  int count = 0;
  Device* devices[kMaxDevices] = {};
  char fault[200] = "";
};
const DeviceList& VisibleDeviceList();

// Parses a list like "cpu,cuda:0"; NULL is the default list. VisibleDeviceList() is this, once, on
// the environment.
DeviceList ParseDevices(const char* text);

// The calling thread's current device; NULL, with the sentence left, where no device is visible.
Device* CurrentDevice(const char* function);

}  // namespace mluop
