// SPDX-License-Identifier: Apache-2.0
// Threads that the system does not start: the loops go on with those there are, with the same
// results. Replaces pthread_create of the whole program; what is done to the thread library cannot
// be undone, so each test works in a forked child.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cpu/thread_budget.h"
#include "cpu/thread_pool.h"
#include "mluops/extensions.h"
#include "testing/prepared_call.h"
#include "tests/support/forked.h"
#include "tests/support/tensors.h"

namespace {

std::atomic<int> calls{0};                // of pthread_create
std::atomic<int> alive{0};                // threads that it started
std::atomic<int> most_alive{1 << 20};     // at once
std::atomic<int> first_failing{1 << 20};  // call, and all that follow until last_failing
std::atomic<int> last_failing{1 << 20};

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* CountWhileItRuns(void* data) {
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
  if (call >= first_failing && call <= last_failing) return EAGAIN;
  if (++alive > most_alive) {
    --alive;
    return EAGAIN;
  }
  auto start = std::make_unique<Start>(Start{function, argument});
  const int result = real(thread, attributes, CountWhileItRuns, start.get());
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
constexpr const char* kLines[] = {
    "psamask_forward N=2 H=20 W=21 psa_type=0 h_mask=23 w_mask=19",
    "masked_im2col_forward C=60 H=21 W=20 M=203 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
    "masked_im2col_backward C=60 H=21 W=20 M=203 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 dtype=half",
};

// Cases with the bits that one thread computes.
class Cases {
 public:
  Cases() {
    const Handle handle;
    mluOpSetNumThreads(handle, 1);
    for (const char* line : kLines) {
      cases_.push_back(std::make_unique<Case>(ParseCase(line)));
      calls_.push_back(std::make_unique<PreparedCall>(*cases_.back(), Placement::kBack));
      EXPECT_EQ(calls_.back()->Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
      expected_.push_back(Bytes(*calls_.back()));
    }
  }

  // How many cases a handle gets wrong, each called twice.
  int Mistakes(mluOpHandle_t handle) const {
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

// With all that is destroyed at the end of a process.
template <typename Body>
int InChild(const Body& body) {
  return InForkedChild(body, std::exit);
}

// Handles that come, work, meet each other and go.
int UseHandles(const Cases& cases) {
  const mluOpHandle_t first = NewHandle(kThreads);
  int mistakes = cases.Mistakes(first);
  const mluOpHandle_t second = NewHandle(kThreads + 2);
  mistakes += cases.Mistakes(second) + cases.Mistakes(first);
  mistakes += mluOpDestroy(first);
  mistakes += cases.Mistakes(second);
  mluOpSetNumThreads(second, 3);
  return mistakes + cases.Mistakes(second) + mluOpDestroy(second);
}

TEST(ThreadsThatDoNotStart, AreNotMissedFromTheFirstCallOn) {
  const Cases cases;
  EXPECT_EQ(InChild([&] {
              first_failing = 0;
              return UseHandles(cases);
            }),
            0);
}

TEST(ThreadsThatDoNotStart, AreNotMissedWhereverTheLimitLies) {
  const Cases cases;
  for (int limit = 0; limit <= 2 * kThreads + 2; ++limit) {
    EXPECT_EQ(InChild([&] {
                most_alive = limit;
                return UseHandles(cases);
              }),
              0)
        << "limit " << limit;
  }
}

TEST(ThreadsThatDoNotStart, AreNotMissedWhenTheLimitComesLater) {
  const Cases cases;
  EXPECT_EQ(InChild([&] {
              const mluOpHandle_t before = NewHandle(3);
              int mistakes = cases.Mistakes(before);
              most_alive = alive.load();
              mistakes += UseHandles(cases) + cases.Mistakes(before);
              return mistakes + mluOpDestroy(before);
            }),
            0);
}

TEST(ThreadsThatDoNotStart, AreNotMissedWhereAnEarlierTeamHasStartedFew) {
  for (int limit = 2; limit <= 16; limit += 2) {
    EXPECT_EQ(InChild([&] {
                most_alive = limit;
                ThreadPool few(8), many(20);
                std::atomic<int64_t> sum{0};
                // At once, before the first team's threads are all there.
                few.For(2, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
                many.For(400, 1, [&](int64_t begin, int64_t end, int) {
                  sum += end - begin;
                  std::this_thread::sleep_for(std::chrono::milliseconds(2));
                });
                return sum == 402 ? 0 : 1;
              }),
              0)
        << "limit " << limit;
  }
}

TEST(ThreadsThatDoNotStart, AreUsedByTheNextHandleOnceTheyDo) {
  EXPECT_EQ(InChild([] {
              const auto most_at_once = [](int threads) {
                ThreadPool pool(threads);
                std::atomic<int> inside{0}, most{0};
                pool.For(threads, 1, [&](int64_t, int64_t, int) {
                  ++inside;
                  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
                  while (std::chrono::steady_clock::now() < end && most < 2) {
                    if (inside > most) most = inside.load();
                    std::this_thread::yield();
                  }
                  --inside;
                });
                return most.load();
              };
              first_failing = 0;
              if (most_at_once(4) != 1) return 1;
              first_failing = 1 << 20;
              return most_at_once(4) > 1 ? 0 : 2;
            }),
            0);
}

TEST(ThreadsThatDoNotStart, AreCounted) {
  EXPECT_EQ(CountStartable(0), 0);
  EXPECT_EQ(CountStartable(7), 7);
  most_alive = 3;
  EXPECT_EQ(CountStartable(7), 3);
  EXPECT_EQ(CountStartable(2), 2);
  most_alive = 1 << 20;
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace mluop::testing
