// SPDX-License-Identifier: Apache-2.0
// The thread pool: coverage of the range, worker indices, sharing of the workers, exceptions, idle
// workers. thread_fork_test.cc has fork and exit, thread_start_test.cc failures of pthread_create.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "core/environment.h"
#include "cpu/thread_pool.h"
#include "tests/support/forked.h"
#include "tests/support/threads.h"

namespace mluop::testing {
namespace {

struct Loop {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // in order
  int max_concurrent = 0;
  bool workers_in_range = true;
  bool workers_unique = true;  // no two concurrent calls had the same worker
};

Loop RunLoop(const ThreadPool& pool, int64_t n, int64_t grain) {
  Loop loop;
  std::mutex mutex;
  std::atomic<int> concurrent{0};
  std::vector<std::atomic<int>> busy(static_cast<size_t>(pool.num_threads()));
  pool.For(n, grain, [&](int64_t begin, int64_t end, int worker) {
    const bool in_range = worker >= 0 && worker < pool.num_threads();
    const int others = in_range ? busy[static_cast<size_t>(worker)].fetch_add(1) : 0;
    const int together = concurrent.fetch_add(1) + 1;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      loop.ranges.emplace_back(begin, end);
      loop.max_concurrent = std::max(loop.max_concurrent, together);
      loop.workers_in_range &= in_range;
      loop.workers_unique &= others == 0;
    }
    std::this_thread::yield();
    concurrent.fetch_sub(1);
    if (in_range) busy[static_cast<size_t>(worker)].fetch_sub(1);
  });
  std::sort(loop.ranges.begin(), loop.ranges.end());
  return loop;
}

// Returns whether the ranges are not empty, are disjoint, and cover [0, n).
bool Covers(const Loop& loop, int64_t n) {
  int64_t next = 0;
  for (const auto& [begin, end] : loop.ranges) {
    if (begin != next || end <= begin) return false;
    next = end;
  }
  return next == n;
}

constexpr int64_t kCounts[] = {0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 4099};
constexpr int64_t kGrains[] = {-1, 0, 1, 2, 3, 10, 64, 5000};
constexpr int kThreads[] = {1, 2, 3, 7, 16};

// Calls test(loop, n, grain, threads) for every combination.
template <typename Test>
void ForEachLoop(Test test) {
  for (const int threads : kThreads) {
    const ThreadPool pool(threads);
    for (const int64_t n : kCounts) {
      for (const int64_t grain : kGrains) {
        SCOPED_TRACE("n=" + std::to_string(n) + " grain=" + std::to_string(grain) +
                     " threads=" + std::to_string(threads));
        test(RunLoop(pool, n, grain), n, grain, threads);
      }
    }
  }
}

TEST(ThreadPoolTest, RangesCoverTheLoopOnce) {
  ForEachLoop([](const Loop& loop, int64_t n, int64_t, int) { EXPECT_TRUE(Covers(loop, n)); });
}

TEST(ThreadPoolTest, RangesCoverEverySizeOnce) {
  for (const int threads : kThreads) {
    for (int64_t n = 1; n <= 300; ++n) {
      ASSERT_TRUE(Covers(RunLoop(ThreadPool(threads), n, 1), n)) << n << " on " << threads;
    }
  }
}

TEST(ThreadPoolTest, ConcurrentCallsHaveUniqueWorkers) {
  ForEachLoop([](const Loop& loop, int64_t, int64_t, int threads) {
    EXPECT_TRUE(loop.workers_in_range);
    EXPECT_TRUE(loop.workers_unique);
    EXPECT_LE(loop.max_concurrent, threads);
  });
}

TEST(ThreadPoolTest, LessThanTwoGrainsAreOneRange) {
  ForEachLoop([](const Loop& loop, int64_t n, int64_t grain, int) {
    if (n > 0 && n < 2 * grain) {
      EXPECT_EQ(loop.ranges.size(), 1);
    }
  });
}

// Every range runs exactly once, whether workers spin, sleep or wake between two loops.
TEST(ThreadPoolTest, BackToBackLoopsAreComplete) {
  const ThreadPool pool(4);
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.For(64, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    ASSERT_EQ(sum, 64 * 63 / 2) << "round " << round;
    if (round % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (round % 1000 == 500) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

TEST(ThreadPoolTest, LoopUsesAllItsThreads) {
  for (const int threads : {2, 4, 9})
    EXPECT_EQ(MaxConcurrentThreads(ThreadPool(threads), threads), threads);
}

TEST(ThreadPoolTest, SleepingWorkersWake) {
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
    ASSERT_EQ(MaxConcurrentThreads(ThreadPool(4), 4), 4) << "round " << round;
  }
}

TEST(ThreadPoolTest, LoopsWithOtherNumbersOfThreadsUseAtMostThese) {
  for (const int threads : {2, 5, 1, 16, 3, 3}) {
    const ThreadPool pool(threads);
    const Loop loop = RunLoop(pool, 1000, 1);
    EXPECT_TRUE(Covers(loop, 1000) && loop.workers_in_range && loop.workers_unique);
    EXPECT_LE(loop.max_concurrent, threads);
  }
}

// In a child, so that the other tests have few workers.
TEST(ThreadPoolTest, MaximumNumberOfThreadsSucceeds) {
  EXPECT_EQ(InForkedChild([] {
              const Loop loop = RunLoop(ThreadPool(kMaxThreads), 5000, 1);
              return Covers(loop, 5000) && loop.workers_in_range && loop.workers_unique ? 0 : 1;
            }),
            0);
}

TEST(ThreadPoolTest, RethrowsExceptionsOfAnyThread) {
  const ThreadPool pool(4);
  for (const bool of_caller : {true, false}) {
    std::atomic<bool> thrown{false};
    const auto fail = [&](int64_t, int64_t, int worker) {
      if ((worker == 0) != of_caller) WaitUntil([&] { return thrown.load(); });
      thrown = true;
      throw std::runtime_error(worker == 0 ? "caller" : "worker");
    };
    EXPECT_THROW(pool.For(1000, 1, fail), std::runtime_error);
    EXPECT_TRUE(Covers(RunLoop(pool, 1000, 1), 1000));
  }
}

TEST(ThreadPoolTest, RethrowsExceptionsOfALoopOnOneThread) {
  const auto fail = [](int64_t, int64_t, int) { throw std::runtime_error("body"); };
  EXPECT_THROW(ThreadPool(1).For(1000, 1, fail), std::runtime_error);
}

bool RoundsToNearest() {
  volatile float one = 1, tiny = 1e-10f;
  return one + tiny == 1;
}

TEST(ThreadPoolTest, WorkersHaveDefaultFloatingPoint) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  std::atomic<int> inside{0}, wrong{0};
  // Uses more threads than earlier tests, so that new threads start: a new thread inherits the
  // caller's settings.
  ThreadPool(20).For(20, 1, [&](int64_t, int64_t, int worker) {
    ++inside;
    WaitUntil([&] { return inside == 20; });
    wrong += worker != 0 && !RoundsToNearest();
  });
  const bool caller_rounds_to_nearest = RoundsToNearest();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(inside, 20);
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(caller_rounds_to_nearest);
}

// Each loop needs a second thread to finish. With few cores the workers must join all loops in
// turn.
TEST(ThreadPoolTest, EightCallersGetWorkers) {
  std::atomic<int> with_worker{0};
  OnThreads(8, [&](int) { with_worker += MaxConcurrentThreads(ThreadPool(2), 2) == 2; });
  EXPECT_EQ(with_worker, 8);
}

TEST(ThreadPoolTest, ConcurrentCallersHaveSeparateLoops) {
  constexpr int kCallers = 80;  // more than the pool has slots
  std::atomic<int> inside{0}, mistakes{0};
  OnThreads(kCallers, [&](int caller) {
    const ThreadPool pool(1 + caller % 5);
    std::atomic<bool> waited{false};
    pool.For(40, 1, [&](int64_t, int64_t, int) {
      if (waited.exchange(true)) return;
      ++inside;
      WaitUntil([&] { return inside == kCallers; });
    });
    for (int64_t n = 1; n < 40; ++n) {
      const Loop loop = RunLoop(pool, n, 1);
      mistakes += !Covers(loop, n) || !loop.workers_unique || !loop.workers_in_range;
    }
  });
  EXPECT_EQ(inside, kCallers);
  EXPECT_EQ(mistakes, 0);
}

TEST(ThreadPoolTest, ObjectsShareTheWorkers) {
  RunLoop(ThreadPool(4), 100, 1);
  const int64_t threads = CountThreads();
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 100000; ++i) {
    ThreadPool(2 + i % 3).For(8, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 800000);
  EXPECT_EQ(CountThreads(), threads);
}

// Workers may still be busy with loops of an earlier test for a short time.
TEST(ThreadPoolTest, IdleWorkersSleep) {
  RunLoop(ThreadPool(4), 100, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 50);
}

}  // namespace
}  // namespace mluop::testing
