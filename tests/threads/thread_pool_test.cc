// SPDX-License-Identifier: Apache-2.0
// Loops over the cores: every index once, no worker twice at a time.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cpu/thread_pool.h"

namespace mluop::testing {
namespace {

struct Loop {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // in order
  int most_at_once = 0;
  bool workers_in_range = true;
  bool workers_apart = true;  // no two calls at once on the same worker
};

Loop RunLoop(ThreadPool& pool, int64_t n, int64_t grain) {
  Loop loop;
  std::mutex mutex;
  std::atomic<int> at_once{0};
  std::vector<std::atomic<int>> busy(static_cast<size_t>(pool.num_threads()));
  pool.For(n, grain, [&](int64_t begin, int64_t end, int worker) {
    const bool in_range = worker >= 0 && worker < pool.num_threads();
    const int others = in_range ? busy[static_cast<size_t>(worker)].fetch_add(1) : 0;
    const int together = at_once.fetch_add(1) + 1;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      loop.ranges.emplace_back(begin, end);
      loop.most_at_once = std::max(loop.most_at_once, together);
      loop.workers_in_range &= in_range;
      loop.workers_apart &= others == 0;
    }
    std::this_thread::yield();
    at_once.fetch_sub(1);
    if (in_range) busy[static_cast<size_t>(worker)].fetch_sub(1);
  });
  std::sort(loop.ranges.begin(), loop.ranges.end());
  return loop;
}

constexpr int64_t kCounts[] = {0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 4099};
constexpr int64_t kGrains[] = {-1, 0, 1, 2, 3, 10, 64, 5000};
constexpr int kThreads[] = {1, 2, 3, 7, 16};

// Calls test(loop, n, grain, threads) for every combination.
template <typename Test>
void ForEachLoop(Test test) {
  for (const int threads : kThreads) {
    ThreadPool pool(threads);
    for (const int64_t n : kCounts) {
      for (const int64_t grain : kGrains) {
        SCOPED_TRACE("n=" + std::to_string(n) + " grain=" + std::to_string(grain) +
                     " threads=" + std::to_string(threads));
        test(RunLoop(pool, n, grain), n, grain, threads);
      }
    }
  }
}

TEST(ThreadPoolTest, CoversEveryIndexExactlyOnce) {
  ForEachLoop([](const Loop& loop, int64_t n, int64_t, int) {
    int64_t next = 0;
    for (const auto& [begin, end] : loop.ranges) {
      EXPECT_EQ(begin, next);
      EXPECT_LT(begin, end);
      next = end;
    }
    EXPECT_EQ(next, n);
  });
}

TEST(ThreadPoolTest, GivesEachWorkerANumberOfItsOwn) {
  ForEachLoop([](const Loop& loop, int64_t, int64_t, int threads) {
    EXPECT_TRUE(loop.workers_in_range);
    EXPECT_TRUE(loop.workers_apart);
    EXPECT_LE(loop.most_at_once, threads);
  });
}

TEST(ThreadPoolTest, OutlivesTheTaskOfItsFirstLoop) {
  // A program's own loop makes the first call, throws, and with it goes the context it ran in.
  ThreadPool pool(4);
  const auto sum_of = [&] {
    std::atomic<int64_t> sum{0};
    pool.For(64, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    return sum.load();
  };
  const auto program = [&] {
    tbb::parallel_for(0, 1, [&](int) {
      EXPECT_EQ(sum_of(), 64 * 63 / 2);
      throw std::runtime_error("the program's");
    });
  };
  EXPECT_THROW(program(), std::runtime_error);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(sum_of(), 64 * 63 / 2);
}

TEST(ThreadPoolTest, LessThanTwoGrainsAreOneRange) {
  ForEachLoop([](const Loop& loop, int64_t n, int64_t grain, int) {
    if (n > 0 && n < 2 * grain) {
      EXPECT_EQ(loop.ranges.size(), 1);
    }
  });
}

TEST(ThreadPoolTest, LoopUponLoopIsWholeEveryTime) {
  // Helpers that come late, stay, or leave between two loops must neither miss nor repeat a range.
  ThreadPool pool(4);
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.For(64, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    ASSERT_EQ(sum, 64 * 63 / 2) << "round " << round;
    if (round % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPoolTest, UsesMoreThanOneThreadWhereThereIsWork) {
  ThreadPool pool(4);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  pool.For(8, 1, [&](int64_t, int64_t, int) {
    ++inside;
    // Waits until a second thread is inside, but not for ever.
    for (int64_t spin = 0; spin < 200000000 && !met; ++spin) {
      if (inside > 1) met = true;
    }
    --inside;
  });
  EXPECT_TRUE(met);
}

TEST(ThreadPoolTest, WorksAfterAChangeOfTheNumberOfThreads) {
  ThreadPool pool(2);
  for (const int threads : {2, 5, 1, 16, 3, 3}) {
    pool.SetNumThreads(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    const Loop loop = RunLoop(pool, 1000, 1);
    EXPECT_EQ(loop.ranges.back().second, 1000);
    EXPECT_TRUE(loop.workers_in_range && loop.workers_apart);
    EXPECT_LE(loop.most_at_once, threads);
  }
}

// oneTBB prints where it is asked for more threads than some limit in the process allows.
TEST(ThreadPoolTest, ThatIsLargerThanAnotherOnePrintsNothing) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  ::testing::internal::CaptureStderr();
  ThreadPool first(cores + 1), second(cores + 3);
  RunLoop(first, 1000, 1);
  EXPECT_EQ(RunLoop(second, 1000, 1).ranges.back().second, 1000);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ThreadPoolTest, KeepsToTheProgramsLimitOfThreadsInSilence) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  ::testing::internal::CaptureStderr();
  ThreadPool pool(4);
  const Loop loop = RunLoop(pool, 1000, 1);
  EXPECT_EQ(loop.ranges.back().second, 1000);
  EXPECT_LE(loop.most_at_once, 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ThreadPoolTest, PassesExceptionsToTheCallerAndGoesOn) {
  ThreadPool pool(4);
  const auto fail = [](int64_t begin, int64_t, int) {
    if (begin > 0) throw std::bad_alloc();
  };
  EXPECT_THROW(pool.For(1000, 1, fail), std::bad_alloc);
  EXPECT_EQ(RunLoop(pool, 1000, 1).ranges.back().second, 1000);
}

}  // namespace
}  // namespace mluop::testing
