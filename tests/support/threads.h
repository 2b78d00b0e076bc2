// SPDX-License-Identifier: Apache-2.0
// Runs a function on several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "cpu/thread_pool.h"

namespace mluop::testing {

// Runs `body(index)` on `count` threads concurrently, and joins them.
template <typename Body>
void OnThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Threads that run while a test forks. They are detached. A new thread of the child may get the id
// of one of them; ThreadSanitizer reports this as an error if the thread was joinable.
class DetachedThreads {
 public:
  DetachedThreads() = default;
  ~DetachedThreads() { Wait(); }
  DetachedThreads(const DetachedThreads&) = delete;
  DetachedThreads& operator=(const DetachedThreads&) = delete;

  template <typename Body>
  void Start(Body body) {
    ++running_;
    std::thread([this, body] {
      body();
      --running_;
    }).detach();
  }
  void Wait() const {
    while (running_ > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int> running_{0};
};

// Returns the number of threads of this process.
inline int64_t CountThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Waits for `condition`, at most `time`.
template <typename Condition>
bool WaitUntil(const Condition& condition,
               std::chrono::milliseconds time = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return condition();
}

// Returns the maximum number of threads in one loop. Every range waits for `expected` threads, at
// most `time`.
inline int MaxConcurrentThreads(const ThreadPool& pool, int expected,
                                std::chrono::milliseconds time = std::chrono::seconds(20)) {
  std::atomic<int> inside{0}, most{0};
  pool.For(4 * pool.num_threads(), 1, [&](int64_t, int64_t, int) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    WaitUntil([&] { return most >= expected; }, time);
    --inside;
  });
  return most;
}

}  // namespace mluop::testing
