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

// At exit oneTBB goes after what uses it, which is this, and threads may still run: a team made from
// then on would ask what is no more ("pure virtual method called").
const struct AtExit {
  ~AtExit() { lost.store(true); }
} at_exit;

// When the library is loaded: later another thread might fork in the middle of it.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, AfterForkInChild);

}  // namespace

void NoteOneTbb() { entered.store(true); }

bool OneTbbIsLost() { return lost.load(std::memory_order_relaxed); }

void LoseOneTbb() { lost.store(true); }

}  // namespace mluop
