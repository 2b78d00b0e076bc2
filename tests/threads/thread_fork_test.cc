// SPDX-License-Identifier: Apache-2.0
// The thread pool after a fork and at exit.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "cpu/thread_pool.h"
#include "tests/support/forked.h"
#include "tests/support/threads.h"

namespace mluop::testing {
namespace {

// Returns whether a loop covers its range once.
bool SumIsRight(const ThreadPool& pool) {
  std::atomic<int64_t> sum{0};
  pool.For(100, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum == 4950;
}

// Threads that run loops continuously.
class BusyCallers {
 public:
  BusyCallers() {
    for (int i = 0; i < 4; ++i) {
      threads_.Start([this] {
        while (!stop_) loops_ += SumIsRight(ThreadPool(3));
      });
    }
    WaitUntil([this] { return loops_ > 100; });
  }
  ~BusyCallers() {
    stop_ = true;
    threads_.Wait();
  }
  BusyCallers(const BusyCallers&) = delete;
  BusyCallers& operator=(const BusyCallers&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> loops_{0};
  DetachedThreads threads_;
};

// Returns 0 if a loop uses four threads and later loops are complete.
int UseFourThreads() {
  if (MaxConcurrentThreads(ThreadPool(4), 4) != 4) return 1;
  for (int i = 0; i < 100; ++i) {
    if (!SumIsRight(ThreadPool(4))) return 2;
  }
  return 0;
}

TEST(ThreadPoolFork, ChildComputesOnSeveralThreads) {
  EXPECT_EQ(UseFourThreads(), 0);
  EXPECT_EQ(InForkedChild(UseFourThreads), 0);
  EXPECT_EQ(UseFourThreads(), 0);
}

TEST(ThreadPoolFork, GrandchildComputesOnSeveralThreads) {
  EXPECT_EQ(UseFourThreads(), 0);
  EXPECT_EQ(InForkedChild([] {
              const int result = UseFourThreads();
              return result != 0 ? result : InForkedChild(UseFourThreads);
            }),
            0);
}

TEST(ThreadPoolFork, ChildWithSleepingWorkersComputes) {
  EXPECT_EQ(UseFourThreads(), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(InForkedChild(UseFourThreads), 0);
}

TEST(ThreadPoolFork, ChildComputesAfterForkDuringLoops) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's allocator may be locked at the fork";
#elif defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the sanitizer still lists the parent's running threads in the child, and ends it "
         "if a new thread gets the id of one of them";
#endif
  const BusyCallers others;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(InForkedChild(UseFourThreads), 0) << "round " << round;
  }
}

TEST(ThreadPoolExit, IsCleanWhileOtherThreadsCompute) {
  for (int round = 0; round < 10; ++round) {
    const auto start_and_exit = [] {
      auto* const leaked_callers = new BusyCallers;
      static_cast<void>(leaked_callers);
      return 0;
    };
    EXPECT_EQ(InForkedChild(start_and_exit, std::exit), 0) << "round " << round;
  }
}

TEST(ThreadPoolExit, IsCleanWithSleepingWorkers) {
  const auto use = [] {
    const int result = UseFourThreads();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return result;
  };
  EXPECT_EQ(InForkedChild(use, std::exit), 0);
}

}  // namespace
}  // namespace mluop::testing
