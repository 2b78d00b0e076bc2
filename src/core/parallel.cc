// SPDX-License-Identifier: Apache-2.0
#include "core/parallel.h"

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <optional>

namespace mluop {
namespace {

// A forked child has none of its parent's workers. Loops there run on the calling thread, and
// do not enter the library whose locks may have been held at the moment of the fork.
std::atomic<bool> workers_started{false};
std::atomic<bool> workers_lost{false};

void AfterForkInChild() {
  if (workers_started.load()) workers_lost.store(true);
}

void NoteWorkers() {
  static const int registered = pthread_atfork(nullptr, nullptr, AfterForkInChild);
  static_cast<void>(registered);
  workers_started.store(true);
}

// Ranges per thread: enough that a slow core does not hold up the others.
constexpr int64_t kRangesPerThread = 4;

}  // namespace

struct ThreadPool::Arena {
  explicit Arena(int num_threads) : arena(num_threads) {
    // oneTBB starts as many workers as there are cores; more only where it is told to.
    const auto limit = tbb::global_control::max_allowed_parallelism;
    const auto wanted = static_cast<size_t>(num_threads);
    if (wanted > tbb::global_control::active_value(limit)) control.emplace(limit, wanted);
  }
  std::optional<tbb::global_control> control;
  tbb::task_arena arena;
};

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {}

ThreadPool::~ThreadPool() {
  if (workers_lost.load()) static_cast<void>(arena_.release());  // its threads died with the parent
}

void ThreadPool::SetNumThreads(int num_threads) {
  if (num_threads == num_threads_) return;
  if (workers_lost.load()) static_cast<void>(arena_.release());
  arena_.reset();
  num_threads_ = num_threads;
}

void ThreadPool::Run(int64_t n, int64_t grain, Function function, void* context) {
  if (n <= 0) return;
  const int64_t most = std::max<int64_t>(n / std::max<int64_t>(grain, 1), 1);
  const int64_t ranges = std::min(most, num_threads_ * kRangesPerThread);
  if (num_threads_ == 1 || ranges == 1 || workers_lost.load(std::memory_order_relaxed)) {
    function(context, 0, n, 0);
    return;
  }
  if (arena_ == nullptr) {
    // Its workers get the floating-point settings of this moment: the operator's own.
    arena_ = std::make_unique<Arena>(num_threads_);
    NoteWorkers();
  }
  const int64_t base = n / ranges;
  const int64_t longer = n % ranges;  // the first `longer` ranges have one element more
  arena_->arena.execute([&] {
    tbb::parallel_for(
        int64_t{0}, ranges, int64_t{1},
        [&](int64_t range) {
          const int64_t begin = range * base + std::min(range, longer);
          const int64_t end = begin + base + (range < longer ? 1 : 0);
          function(context, begin, end, tbb::this_task_arena::current_thread_index());
        },
        tbb::simple_partitioner());
  });
}

}  // namespace mluop
