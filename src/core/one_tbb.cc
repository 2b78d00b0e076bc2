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

// When the library is loaded: later another thread might fork in the middle of it.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, AfterForkInChild);

}  // namespace

void NoteOneTbb() { entered.store(true); }

bool OneTbbIsLost() { return lost.load(std::memory_order_relaxed); }

void LoseOneTbb() { lost.store(true); }

}  // namespace mluop
