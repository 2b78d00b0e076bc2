// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: its memory is the host's, and whatever is queued is done at once.
#include <hwy/highway.h>

#include <chrono>
#include <cstring>
#include <new>

#include "core/device.h"
#include "core/error.h"
#include "core/operator.h"
#include "cpu/floating_point.h"
#include "cpu/scratch.h"

namespace mluop {
namespace {

using Clock = std::chrono::steady_clock;

struct CpuNotifier : cnrtNotifier {
  Clock::time_point time;
};

class Cpu final : public Device {
 public:
  const char* name() const override { return "cpu"; }

  const char* implementation() const override {
    const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
    return hwy::TargetName(targets & -targets);  // the best one is the lowest bit
  }

  bool Has(const Operator& op) const override { return op.cpu != nullptr; }
  mluOpStatus_t Run(const Operator& op, const Arguments& arguments, mluOpContext& handle) override {
    Context context(handle, arguments.workspace);
    const DefaultFloatingPoint floating_point;
    try {
      return op.cpu(arguments, context);
    } catch (...) {
      return FailFromException(op.spec.name.data());
    }
  }
  size_t WorkspaceBytes(const OpSpec&, const Arguments& arguments,
                        WorkspaceSize on_cpu) const override {
    return on_cpu(arguments);
  }
  cnrtRet_t CreateState(std::unique_ptr<DeviceState>*) override { return cnrtSuccess; }

  cnrtRet_t Allocate(void** pointer, size_t bytes) override {
    void* const data = AllocateAligned(bytes == 0 ? 1 : bytes);
    if (data == nullptr) return cnrtErrorNoMem;
    *pointer = data;
    return cnrtSuccess;
  }
  cnrtRet_t Free(void* pointer) override {
    FreeAligned(pointer);
    return cnrtSuccess;
  }
  cnrtRet_t AllocateHost(void** pointer, size_t bytes) override { return Allocate(pointer, bytes); }
  cnrtRet_t FreeHost(void* pointer) override { return Free(pointer); }

  cnrtRet_t Copy(void* to, const void* from, size_t bytes, cnrtQueue_t) override {
    std::memcpy(to, from, bytes);
    return cnrtSuccess;
  }
  cnrtRet_t Fill(void* pointer, int value, size_t bytes, cnrtQueue_t) override {
    std::memset(pointer, value, bytes);
    return cnrtSuccess;
  }
  cnrtRet_t Synchronize() override { return cnrtSuccess; }

  cnrtRet_t CreateQueue(cnrtQueue_t* queue) override {
    auto* created = new (std::nothrow) cnrtQueue{this};
    if (created == nullptr) return cnrtErrorNoMem;
    *queue = created;
    return cnrtSuccess;
  }
  cnrtRet_t DestroyQueue(cnrtQueue_t queue) override {
    delete queue;
    return cnrtSuccess;
  }
  cnrtRet_t SynchronizeQueue(cnrtQueue_t) override { return cnrtSuccess; }
  cnrtRet_t WrapStream(void*, cnrtQueue_t*) override { return cnrtErrorArgsInvalid; }

  cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) override {
    auto* created = new (std::nothrow) CpuNotifier;
    if (created == nullptr) return cnrtErrorNoMem;
    created->device = this;
    *notifier = created;
    return cnrtSuccess;
  }
  cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) override {
    delete static_cast<CpuNotifier*>(notifier);
    return cnrtSuccess;
  }
  cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t) override {
    static_cast<CpuNotifier*>(notifier)->time = Clock::now();
    return cnrtSuccess;
  }
  cnrtRet_t WaitNotifier(cnrtNotifier_t) override { return cnrtSuccess; }
  cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) override {
    const auto* first = static_cast<const CpuNotifier*>(start);
    const auto* last = static_cast<const CpuNotifier*>(end);
    *us = std::chrono::duration<double, std::micro>(last->time - first->time).count();
    return cnrtSuccess;
  }
  cnrtRet_t TimeReplays(Enqueue, void*, int, double*) override { return cnrtErrorArgsInvalid; }
  cnrtRet_t TimeLaunch(double*) override { return cnrtErrorArgsInvalid; }
};

}  // namespace

Device* CpuDevice() {
  static Cpu cpu;
  return &cpu;
}

}  // namespace mluop
