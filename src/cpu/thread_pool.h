// SPDX-License-Identifier: Apache-2.0
// Loops over the cores, on oneTBB (docs/decisions/0002-threads.md says why).
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace mluop {

class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }
  void SetNumThreads(int num_threads);

  // Calls body(begin, end, worker) on disjoint ranges that cover [0, n), at most num_threads() at a
  // time. A thread is called upon for every `grain` elements, which should be worth its coming.
  // `worker` is in [0, num_threads()) and no two calls at the same time have the same one: it
  // indexes scratch. Which ranges there are depends on the number of threads: results must not.
  // `body` must not start a loop of the same pool. What it throws is thrown here.
  template <typename Body>
  void For(int64_t n, int64_t grain, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    Run(
        n, grain,
        [](void* context, int64_t begin, int64_t end, int worker) {
          (*static_cast<Plain*>(context))(begin, end, worker);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Function = void (*)(void* context, int64_t begin, int64_t end, int worker);
  struct Loop {
    Function function;
    void* context;
    int64_t n, ranges;
    int workers;  // that are wanted
  };
  class Team;

  void Run(int64_t n, int64_t grain, Function function, void* context);

  int num_threads_;
  std::unique_ptr<Team> team_;  // made at the first loop that is worth more than one thread
};

}  // namespace mluop
