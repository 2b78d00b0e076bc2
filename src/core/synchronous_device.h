// SPDX-License-Identifier: Apache-2.0
// The part that devices share whose calls are complete when they return: calls, host
// memory, queues, and notifiers that read the clock of the host.
#pragma once

#include <chrono>
#include <cstdlib>
#include <new>

#include "core/device.h"
#include "core/implementation.h"

namespace mluop {

// Derived has Index() and WithOperator(arguments, handle, body), which returns body(operator,
// context). Queue: cnrtQueue, or a struct that derives from it.
template <class Derived, class Context, class Queue = cnrtQueue>
class SynchronousDevice : public Device {
 public:
  using Operator = DeviceOperator<Context>;

  bool is_synchronous() const override { return true; }

  std::span<const ImplementationInfo> Implementations(const OpSpec& op) const override {
    const Operator* const found = static_cast<const Derived*>(this)->Index().FindOperator(op);
    return found == nullptr ? std::span<const ImplementationInfo>() : found->implementations;
  }
  mluOpStatus_t Run(const Arguments& arguments, mluOpContext& handle) override {
    const auto run = [&](const Operator& op, Context& context) {
      return op.run(arguments, context, handle.implementation);
    };
    return static_cast<Derived*>(this)->WithOperator(arguments, handle, run);
  }
  mluOpStatus_t MakePlan(const Arguments& arguments, mluOpContext& handle, Plan* plan) override {
    const auto make_plan = [&](const Operator& op, Context& context) {
      return op.plan(arguments, context, handle.implementation, plan);
    };
    return static_cast<Derived*>(this)->WithOperator(arguments, handle, make_plan);
  }
  cnrtRet_t CreateState(std::unique_ptr<DeviceState>* /*state*/) override { return cnrtSuccess; }

  cnrtRet_t AllocateHost(void** pointer, size_t bytes) override {
    *pointer = std::malloc(bytes == 0 ? 1 : bytes);
    return *pointer == nullptr ? cnrtErrorNoMem : cnrtSuccess;
  }
  cnrtRet_t FreeHost(void* pointer) override {
    std::free(pointer);
    return cnrtSuccess;
  }

  cnrtRet_t CreateQueue(cnrtQueue_t* queue) override { return Create<Queue>(queue); }
  cnrtRet_t DestroyQueue(cnrtQueue_t queue) override {
    delete static_cast<Queue*>(queue);
    return cnrtSuccess;
  }
  cnrtRet_t WrapStream(void*, cnrtQueue_t*) override { return cnrtErrorArgsInvalid; }

  cnrtRet_t CreateNotifier(cnrtNotifier_t* notifier) override { return Create<Notifier>(notifier); }
  cnrtRet_t DestroyNotifier(cnrtNotifier_t notifier) override {
    delete static_cast<Notifier*>(notifier);
    return cnrtSuccess;
  }
  cnrtRet_t PlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t) override {
    static_cast<Notifier*>(notifier)->time = Clock::now();
    return cnrtSuccess;
  }
  cnrtRet_t WaitNotifier(cnrtNotifier_t) override { return cnrtSuccess; }
  cnrtRet_t Duration(cnrtNotifier_t start, cnrtNotifier_t end, double* us) override {
    const auto* first = static_cast<const Notifier*>(start);
    const auto* last = static_cast<const Notifier*>(end);
    *us = std::chrono::duration<double, std::micro>(last->time - first->time).count();
    return cnrtSuccess;
  }

 protected:
  ~SynchronousDevice() = default;

 private:
  using Clock = std::chrono::steady_clock;
  struct Notifier : cnrtNotifier {
    Clock::time_point time;
  };

  template <class Object, class Pointer>
  cnrtRet_t Create(Pointer* pointer) {
    auto* const created = new (std::nothrow) Object;
    if (created == nullptr) return cnrtErrorNoMem;
    created->device = this;
    *pointer = created;
    return cnrtSuccess;
  }
};

}  // namespace mluop
