// SPDX-License-Identifier: Apache-2.0
// Parallel loops. All ThreadPools of a process share its workers, which start on first need and
// never stop.
#pragma once

#include <cstdint>

namespace mluop {

// Runs parallel loops on at most num_threads() threads, including the caller. The workers are
// process-wide; an object only limits the number of threads.
class ThreadPool {
 public:
  explicit ThreadPool(int num_threads) : num_threads_(num_threads) {}

  int num_threads() const { return num_threads_; }

  // Calls body(begin, end, worker) on disjoint ranges that cover [0, n). `worker` is in
  // [0, num_threads()) and unique among the concurrent calls of a loop: it indexes scratch. The
  // ranges depend on the number of threads; results must not. Uses at most one thread per `grain`
  // elements; choose `grain` above the wake-up cost. Rethrows the first exception of `body`.
  template <typename Body>
  void For(int64_t n, int64_t grain, const Body& body) const {
    Run(
        n, grain,
        [](const void* context, int64_t begin, int64_t end, int worker) {
          (*static_cast<const Body*>(context))(begin, end, worker);
        },
        &body);
  }

  // Calls body(i, worker) for every i in [0, n).
  template <typename Body>
  void ForEach(int64_t n, int64_t grain, const Body& body) const {
    For(n, grain, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t i = begin; i < end; ++i) body(i, worker);
    });
  }

 private:
  using Function = void (*)(const void* context, int64_t begin, int64_t end, int worker);

  void Run(int64_t n, int64_t grain, Function function, const void* context) const;

  int num_threads_;
};

}  // namespace mluop
