// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_budget.h"

#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/one_tbb.h"

namespace mluop {
namespace {

// Threads that came since the last ForgetThreads(), and above them how often that was.
std::atomic<uint64_t> seen{0};
constexpr int kEpochShift = 32;

void ForgetThreads() {
  uint64_t now = seen;
  while (!seen.compare_exchange_weak(now, ((now >> kEpochShift) + 1) << kEpochShift)) {
  }
}

constexpr auto kLimit = tbb::global_control::max_allowed_parallelism;

// Threads that were there for a team are there for the next as long as any team lives: oneTBB may
// end them with the last.
class Budget {
 public:
  int Take(int wanted, int* expected) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int needed = std::min(taken_ + wanted, std::max(MostOfOneTbb(), wanted));
    if (needed > proven_) {
      proven_ += CountStartable(needed - proven_);
      *expected = std::min(needed, proven_);
    }
    const int missing = std::max(needed - proven_, 0);
    int taken = std::max(wanted - missing, 0);
    if (taken > MostOfOneTbb()) RaiseLimit(taken);
    taken = std::min(taken, MostOfOneTbb());  // the program may have set a limit of its own
    taken_ += taken;
    if (taken_ == 0) Forget();
    return taken;
  }

  void GiveBack(int taken) {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_ -= taken;
    if (taken_ == 0) Forget();
  }

 private:
  void Forget() {
    proven_ = 0;
    ForgetThreads();
  }

  // Threads that it starts for all teams together: as many as there are cores, and no more unless it
  // is told to. Of several such wishes it takes the least, and asked for more than that it prints:
  // there is one wish for the whole process, which grows.
  static int MostOfOneTbb() {
    const size_t threads = EnterOneTbb([] { return tbb::global_control::active_value(kLimit); });
    return static_cast<int>(threads) - 1;
  }

  void RaiseLimit(int threads) {
    const int wish = std::max(wish_, threads + 1);
    auto* const raised =
        EnterOneTbb([wish] { return new tbb::global_control(kLimit, static_cast<size_t>(wish)); });
    delete std::exchange(limit_, raised);
    wish_ = wish;
  }

  std::mutex mutex_;
  int taken_ = 0;
  int proven_ = 0;                        // threads that oneTBB has or can start
  tbb::global_control* limit_ = nullptr;  // stays to the end: oneTBB may be gone before
  int wish_ = 0;                          // of limit_
};

constinit Budget budget;

// The links of this folder are the process's threads and two more; 0 where there is no /proc.
size_t TaskLinks() {
  struct stat tasks = {};
  return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink : 0;
}

// A thread that has been joined counts against the system's limits a little longer. Others may have
// started some of their own meanwhile: it is not waited for long.
void AwaitTaskLinks(size_t most) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(1);
  while (TaskLinks() > most && Clock::now() < end) sched_yield();
}

void* StayUntil(void* released) {
  static_cast<std::atomic<bool>*>(released)->wait(false);
  return nullptr;
}

}  // namespace

void NoteThread() {
  thread_local uint64_t noted = UINT64_MAX;  // the epoch
  uint64_t now = seen;
  while (now >> kEpochShift != noted) {
    if (seen.compare_exchange_weak(now, now + 1)) noted = now >> kEpochShift;
  }
}

int ThreadsSeen() { return static_cast<int>(seen & UINT32_MAX); }

int CountStartable(int wanted) {
  std::vector<pthread_t> threads(static_cast<size_t>(std::max(wanted, 0)));
  const size_t links = TaskLinks();
  std::atomic<bool> released{false};
  size_t started = 0;
  while (started < threads.size() &&
         pthread_create(&threads[started], nullptr, StayUntil, &released) == 0) {
    ++started;
  }
  released = true;
  released.notify_all();
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], nullptr);
  AwaitTaskLinks(links);
  return static_cast<int>(started);
}

TakenThreads::TakenThreads(int wanted) : count_(budget.Take(wanted, &expected_)) {}

TakenThreads::~TakenThreads() { budget.GiveBack(count_); }

}  // namespace mluop
