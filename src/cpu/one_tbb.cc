// SPDX-License-Identifier: Apache-2.0
#include "cpu/one_tbb.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace mluop {
namespace {

std::atomic<bool> entered{false};
std::atomic<bool> lost{false};
std::atomic<int> inside{0};  // threads

void AfterForkInChild() {
  if (entered.load()) lost.store(true);
  inside.store(0);  // of the parent
}

// At exit oneTBB goes after what uses it, which is this, and threads may still run: one that comes from
// then on would ask what is no more ("pure virtual method called"). Those that are inside are waited
// for, if not for ever: one of them may have called exit().
const struct AtExit {
  ~AtExit() {
    using Clock = std::chrono::steady_clock;
    lost.store(true);
    const auto end = Clock::now() + std::chrono::seconds(1);
    while (inside.load() != 0 && Clock::now() < end) std::this_thread::yield();
  }
} at_exit;

// When the library is loaded: later another thread might fork in the middle of it.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, AfterForkInChild);

}  // namespace

void NoteOneTbb() { entered.store(true); }

bool OneTbbIsLost() { return lost.load(std::memory_order_relaxed); }

void LoseOneTbb() { lost.store(true); }

InsideOneTbb::InsideOneTbb() {
  ++inside;
  if (!lost.load()) return;
  --inside;
  throw std::runtime_error("oneTBB is lost");
}

InsideOneTbb::~InsideOneTbb() { --inside; }

}  // namespace mluop
