// SPDX-License-Identifier: Apache-2.0
// The part that devices share whose calls are complete when they return: queues, and notifiers that
// read the clock of the host.
#pragma once

#include <chrono>
#include <new>

#include "core/device.h"

namespace mluop {

// Queue: cnrtQueue, or a struct that derives from it.
template <class Queue>
class SynchronousDevice : public Device {
 public:
  bool is_synchronous() const override { return true; }

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
