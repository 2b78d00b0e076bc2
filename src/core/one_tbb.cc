// SPDX-License-Identifier: Apache-2.0
#include "core/one_tbb.h"

#include <pthread.h>

#include <atomic>

namespace mluop {
namespace {

std::atomic<bool> entered{false};
std::atomic<bool> lost{false};

void AfterForkInChild() {
  if (entered.load()) lost.store(true);
}

}  // namespace

void NoteOneTbb() {
  static const int registered = pthread_atfork(nullptr, nullptr, AfterForkInChild);
  static_cast<void>(registered);
  entered.store(true);
}

bool OneTbbIsLost() { return lost.load(std::memory_order_relaxed); }

void LoseOneTbb() { lost.store(true); }

}  // namespace mluop
