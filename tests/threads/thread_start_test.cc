// SPDX-License-Identifier: Apache-2.0
// pthread_create fails: loops run on fewer threads and give the same results. Replaces
// pthread_create of the whole program. Workers never stop, so each test runs in a child.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cpu/thread_pool.h"
#include "mluops/extensions.h"
#include "testing/prepared_call.h"
#include "tests/support/examples.h"
#include "tests/support/forked.h"
#include "tests/support/tensors.h"
#include "tests/support/threads.h"

namespace {

std::atomic<int> calls{0};                // calls of pthread_create
std::atomic<int> alive{0};                // threads that it started
std::atomic<int> max_alive{1 << 20};      // maximum of concurrent threads
std::atomic<int> first_failing{1 << 20};  // first failing call; all fail until last_failing
std::atomic<int> last_failing{1 << 20};
std::atomic<int> held_call{-1};  // fails after `released`
std::atomic<bool> held{false}, released{false};

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* RunAndCount(void* data) {
  const std::unique_ptr<Start> start(static_cast<Start*>(data));
  void* const result = start->function(start->argument);
  --alive;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const int call = calls++;
  if (call == held_call) {
    held = true;
    while (!released) std::this_thread::yield();
    return EAGAIN;
  }
  if (call >= first_failing && call <= last_failing) return EAGAIN;
  if (++alive > max_alive) {
    --alive;
    return EAGAIN;
  }
  auto start = std::make_unique<Start>(Start{function, argument});
  const int result = real(thread, attributes, RunAndCount, start.get());
  if (result == 0) {
    static_cast<void>(start.release());
  } else {
    --alive;
  }
  return result;
}

namespace mluop::testing {
namespace {

constexpr int kThreads = 5;
constexpr std::chrono::milliseconds kShortTime(300);  // for threads that should not start

// Cases with the bits that one thread computes.
class Cases {
 public:
  Cases() {
    const Handle handle;
    mluOpSetNumThreads(handle, 1);
    for (const char* line : kParallelLines) {
      cases_.push_back(std::make_unique<Case>(ParseCase(line)));
      calls_.push_back(std::make_unique<PreparedCall>(*cases_.back(), Placement::kBack));
      EXPECT_EQ(calls_.back()->Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
      expected_.push_back(Bytes(*calls_.back()));
    }
  }

  // Runs each case twice on the handle. Returns the number of wrong results.
  int CountWrongResults(mluOpHandle_t handle) const {
    int mistakes = 0;
    for (size_t i = 0; i < 2 * calls_.size(); ++i) {
      PreparedCall& call = *calls_[i % calls_.size()];
      call.PoisonOutputs();
      const mluOpStatus_t status = call.Run(handle);
      mistakes += status != MLUOP_STATUS_SUCCESS || Bytes(call) != expected_[i % calls_.size()];
    }
    return mistakes;
  }

 private:
  static std::string Bytes(const PreparedCall& call) {
    const TensorArgument& output = call.Output(call.test_case().test->outputs[0].tensor);
    return {static_cast<const char*>(output.data), output.ByteCount()};
  }

  std::vector<std::unique_ptr<Case>> cases_;
  std::vector<std::unique_ptr<PreparedCall>> calls_;
  std::vector<std::string> expected_;
};

mluOpHandle_t NewHandle(int threads) {
  mluOpHandle_t handle = nullptr;
  mluOpCreate(&handle);
  mluOpSetNumThreads(handle, threads);
  return handle;
}

// Ends the child by exit(), which runs destructors.
template <typename Body>
int InChild(const Body& body) {
  return InForkedChild(body, std::exit);
}

// Computes on several handles, first in turn, then concurrently.
int UseHandles(const Cases& cases) {
  const mluOpHandle_t first = NewHandle(kThreads);
  int mistakes = cases.CountWrongResults(first);
  const mluOpHandle_t second = NewHandle(kThreads + 2);
  mistakes += cases.CountWrongResults(second) + cases.CountWrongResults(first);
  mistakes += mluOpDestroy(first);
  mistakes += cases.CountWrongResults(second);
  mluOpSetNumThreads(second, 3);
  return mistakes + cases.CountWrongResults(second) + mluOpDestroy(second);
}

TEST(ThreadCreationFailure, CallerComputesAlone) {
  const Cases cases;
  EXPECT_EQ(InChild([&] {
              first_failing = 0;
              return UseHandles(cases);
            }),
            0);
}

TEST(ThreadCreationFailure, AnyNumberOfThreadsGivesTheSameBits) {
  const Cases cases;
  for (int limit = 0; limit <= 2 * kThreads + 2; ++limit) {
    EXPECT_EQ(InChild([&] {
                max_alive = limit;
                return UseHandles(cases);
              }),
              0)
        << "limit " << limit;
  }
}

TEST(ThreadCreationFailure, FailureAfterFirstLoopGivesSameBits) {
  const Cases cases;
  EXPECT_EQ(InChild([&] {
              const mluOpHandle_t before = NewHandle(3);
              int mistakes = cases.CountWrongResults(before);
              max_alive = alive.load();
              mistakes += UseHandles(cases) + cases.CountWrongResults(before);
              return mistakes + mluOpDestroy(before);
            }),
            0);
}

TEST(ThreadCreationFailure, LoopUsesTheThreadsThatStarted) {
  for (const int limit : {0, 1, 3, 7}) {
    EXPECT_EQ(InChild([&] {
                max_alive = limit;
                return MaxConcurrentThreads(ThreadPool(20), limit + 1, kShortTime);
              }),
              limit + 1);
  }
}

TEST(ThreadCreationFailure, WorkerStartsOnALaterAttempt) {
  EXPECT_EQ(
      InChild([] {
        first_failing = 0;
        if (MaxConcurrentThreads(ThreadPool(4), 2, kShortTime) != 1) return 1;
        first_failing = 1 << 20;
        // The pool tries again within 100 ms.
        return WaitUntil([] { return MaxConcurrentThreads(ThreadPool(4), 4, kShortTime) == 4; })
                   ? 0
                   : 2;
      }),
      0);
}

TEST(ThreadCreationFailure, IsNotRetriedInEveryLoop) {
  EXPECT_EQ(InChild([] {
              first_failing = 0;
              const auto start = std::chrono::steady_clock::now();
              for (int i = 0; i < 10000; ++i) {
                ThreadPool(4).For(8, 1, [](int64_t, int64_t, int) {});
              }
              const std::chrono::duration<double> seconds =
                  std::chrono::steady_clock::now() - start;
              return calls >= 1 && calls <= 2 + seconds.count() / 0.1 ? 0 : 1;
            }),
            0);
}

// While the thread is being started, another caller counts it as searching and wakes no worker.
TEST(ThreadCreationFailure, WakesAWorkerForACallerThatCountedTheThread) {
  EXPECT_EQ(InChild([] {
              if (MaxConcurrentThreads(ThreadPool(3), 3, kShortTime) != 3) return 1;
              std::atomic<bool> armed{false};
              std::thread first([&] {
                WaitUntil([&] { return armed.load(); });
                ThreadPool(4).For(4, 1, [](int64_t, int64_t, int) {});
              });
              std::this_thread::sleep_for(kShortTime);  // the two workers fall asleep
              held_call = calls.load();
              armed = true;
              if (!WaitUntil([] { return held.load(); })) return 2;
              std::this_thread::sleep_for(kShortTime);  // they run the loop and sleep again
              std::atomic<int> inside{0};
              std::atomic<bool> met{false};
              ThreadPool(2).For(2, 1, [&](int64_t, int64_t, int) {
                ++inside;
                released = true;
                if (WaitUntil([&] { return inside == 2 || met; })) met = true;
                --inside;
              });
              first.join();
              return met ? 0 : 3;
            }),
            0);
}

// Callers that need their first workers concurrently start one per core in total.
TEST(WorkerStart, IsLimitedToTheCoresForManyCallers) {
  EXPECT_EQ(InChild([] {
              constexpr int kCallers = 16;
              std::atomic<int> ready{0};
              OnThreads(kCallers, [&](int) {
                ++ready;
                WaitUntil([&] { return ready == kCallers; });
                for (int i = 0; i < 100; ++i) {
                  ThreadPool(2).For(8, 1, [](int64_t, int64_t, int) { std::this_thread::yield(); });
                }
              });
              const int cores = static_cast<int>(std::thread::hardware_concurrency());
              return calls <= kCallers + std::max(cores - 1, 1) ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace mluop::testing
