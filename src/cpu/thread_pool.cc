// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.h"

#include <sched.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cpu/floating_point.h"
#include "cpu/hand_over.h"
#include "cpu/one_tbb.h"
#include "cpu/thread_budget.h"

namespace mluop {
namespace {

// Ranges per thread: enough that a slow core does not hold up the others.
constexpr int64_t kRangesPerThread = 4;

// A helper that waits for the next loop so long is there at once when it comes; one that sleeps
// comes 20 to 50 us later, when a small loop is over. A loop of 20 us of work, one upon the other,
// takes 11 us on two threads; with oneTBB's own parallel_for it took 22, as long as alone.
constexpr std::chrono::microseconds kLinger(100);

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A virtual machine's kernel takes a sleeping core for one that is busy elsewhere, and wakes a
// helper on the caller's own, where the two take turns of some milliseconds. It stays where it is
// put: to another core, if it may be on any.
void LeaveCore(int core) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

}  // namespace

// The calling thread and helpers on oneTBB's threads share the ranges of one loop after the other.
class ThreadPool::Team {
 public:
  // One that no pool has any more, or a new one.
  static std::unique_ptr<Team> Of(int num_threads) {
    std::unique_ptr<Team> team = idle.Take(num_threads);
    if (team != nullptr) return team;
    team = std::make_unique<Team>(num_threads);
    team->Muster();
    return team;
  }
  static void Retire(std::unique_ptr<Team> team) {
    if (team != nullptr && !OneTbbIsLost()) team = idle.Keep(std::move(team));
    if (team == nullptr) return;
    try {
      EnterOneTbb([&team] {
        team->Stop();
        team.reset();
      });
    } catch (...) {  // its helpers may yet come where oneTBB is lost: it stays as it is
      static_cast<void>(team.release());
    }
  }

  explicit Team(int num_threads)
      : wanted_(num_threads),
        taken_(num_threads - 1),
        size_(taken_.count() + 1),
        arena_(size_),
        helping_(size_),
        shares_(size_) {
    EnterOneTbb([this] { arena_.initialize(); });
  }

  ~Team() { TakeOver(); }

  // The caller, and as many helpers as could be had.
  int size() const { return size_; }

  void Run(const Loop& loop) {
    loop_ = loop;
    for (int i = 0; i < loop.workers; ++i) {
      shares_[i].next.store(loop.ranges * i / loop.workers, std::memory_order_relaxed);
      shares_[i].end = loop.ranges * (i + 1) / loop.workers;
    }
    CallHelpers();
    ++generation_;  // open: helpers come in
    WorkOrKeepError(0);
    ++generation_;  // closed: nobody comes in any more
    for (int spins = 0; inside_ != 0 && spins < 1000; ++spins) Pause();
    while (inside_ != 0) std::this_thread::yield();
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  // Teams for the next pools of as many threads. What a new one costs, oneTBB gets back only when a
  // worker comes by, which may never be: with a handle to a call memory grew by 11 KiB a call. They
  // are never destroyed: oneTBB may be gone before.
  class Idle {
   public:
    std::unique_ptr<Team> Take(int wanted) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (Team*& team : teams_) {
        if (team != nullptr && team->wanted_ == wanted)
          return std::unique_ptr<Team>(std::exchange(team, nullptr));
      }
      return nullptr;
    }

    // Returns what is not kept: one that found too few threads, of which there may be more next time,
    // and one too many.
    std::unique_ptr<Team> Keep(std::unique_ptr<Team> team) {
      if (team->size_ < team->wanted_) return team;
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto place = std::find(teams_.begin(), teams_.end(), nullptr);
      if (place != teams_.end()) *place = team.release();
      return team;
    }

   private:
    std::mutex mutex_;
    std::array<Team*, 16> teams_ = {};
  };
  static constinit Idle idle;

  struct alignas(64) Share {
    std::atomic<int64_t> next;  // range
    int64_t end;
  };

  // No helper will come any more.
  void Stop() {
    stop_ = true;
    if (size_ > 1) arena_.execute([this] { helpers_.wait(); });  // runs those that found no thread
  }

  // Lets oneTBB start its threads now: the next team tries how many more can be started, which would
  // be in the way of those that start then. Each of them waits for the others, or it would come
  // for them.
  void Muster() {
    using Clock = std::chrono::steady_clock;
    const int expected = taken_.expected();
    const auto end = Clock::now() + std::chrono::milliseconds(100);
    const auto wait = [expected, end] {
      while (ThreadsSeen() < expected && Clock::now() < end) std::this_thread::yield();
    };
    const auto arrive = [this, wait] {
      if (stop_) return;  // on the thread that waits for it
      NoteThread();
      wait();
    };
    for (int worker = 1; worker < size_ && ThreadsSeen() < expected; ++worker) {
      if (Enqueue(arrive) != Enqueued::kYes) break;
    }
    wait();
  }

  void CallHelpers() {
    callers_core_ = sched_getcpu();
    for (int worker = 1; worker < loop_.workers; ++worker) {
      if (!helping_[worker].exchange(true) && !CallHelper(worker)) return;
    }
  }

  // False where it cannot: the loop goes on with those who are there.
  bool CallHelper(int worker) {
    const Enqueued enqueued = Enqueue([this, worker] { Help(worker); });
    if (enqueued == Enqueued::kNo) helping_[worker] = false;
    return enqueued == Enqueued::kYes;
  }

  // kPerhaps: oneTBB failed, and the task may come all the same.
  enum class Enqueued { kNo, kYes, kPerhaps };

  // Has a thread of oneTBB's run `body`.
  template <typename Body>
  Enqueued Enqueue(const Body& body) {
    tbb::task_handle task;
    try {
      const InsideOneTbb inside;
      task = helpers_.defer([body] {
        TakeOver();
        body();
        HandOver();
      });
    } catch (...) {  // no memory, or oneTBB is lost
      return Enqueued::kNo;
    }
    HandOver();
    try {
      EnterOneTbb([&] { arena_.enqueue(std::move(task)); });
    } catch (...) {
      return Enqueued::kPerhaps;
    }
    return Enqueued::kYes;
  }

  void WorkOrKeepError(int worker) {
    try {
      Work(worker);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }

  // First its own ranges, the same in every loop of so many: what it wrote is still in its cache.
  // Then what others have not come to.
  void Work(int worker) {
    for (int i = 0; i < loop_.workers; ++i) {
      Share& share = shares_[(worker + i) % loop_.workers];
      while (true) {
        const int64_t range = share.next.fetch_add(1, std::memory_order_relaxed);
        if (range >= share.end) break;
        RunRange(range, worker);
      }
    }
  }

  void RunRange(int64_t range, int worker) {
    const int64_t base = loop_.n / loop_.ranges;
    const int64_t longer = loop_.n % loop_.ranges;  // so many first ranges have one element more
    const int64_t begin = range * base + std::min(range, longer);
    loop_.function(loop_.context, begin, begin + base + (range < longer ? 1 : 0), worker);
  }

  // Loop after loop, until none has come for a while.
  void Help(int worker) {
    using Clock = std::chrono::steady_clock;
    if (stop_) return;  // on the caller's thread, which is waiting for it
    NoteThread();
    const DefaultFloatingPoint floating_point;
    if (const int core = callers_core_; core >= 0 && sched_getcpu() == core) LeaveCore(core);
    uint64_t seen = 0;
    for (auto since = Clock::now(); !stop_ && Clock::now() - since < kLinger;) {
      const uint64_t generation = generation_;
      if (generation % 2 == 0 || generation == seen) {
        for (int i = 0; i < 8; ++i) Pause();
        continue;
      }
      // Whoever is inside before the loop is closed is waited for: either Run sees it there, or it
      // sees that the generation is another.
      ++inside_;
      if (generation_ == generation) WorkOrKeepError(worker);
      --inside_;
      seen = generation;
      since = Clock::now();
    }
    helping_[worker] = false;
  }

  int wanted_;
  TakenThreads taken_;
  int size_;
  tbb::task_arena arena_;
  // Of its own: the caller's task, whose child it would be, may be over before the helpers are.
  tbb::task_group_context context_{tbb::task_group_context::isolated};
  tbb::task_group helpers_{context_};
  std::vector<std::atomic<bool>> helping_;  // by worker; the first is the caller
  std::atomic<int> callers_core_{-1};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;  // the first of the loop
  Loop loop_ = {};
  std::vector<Share> shares_;  // by worker
  // Each on a line of its own: they are what the threads have between them.
  alignas(64) std::atomic<uint64_t> generation_{0};  // odd while a loop is open
  alignas(64) std::atomic<int> inside_{0};           // helpers
};

constinit ThreadPool::Team::Idle ThreadPool::Team::idle;

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {}

ThreadPool::~ThreadPool() { Team::Retire(std::move(team_)); }

void ThreadPool::SetNumThreads(int num_threads) {
  if (num_threads == num_threads_) return;
  Team::Retire(std::move(team_));
  num_threads_ = num_threads;
}

void ThreadPool::Run(int64_t n, int64_t grain, Function function, void* context) {
  if (n <= 0) return;
  const int64_t wanted = std::max<int64_t>(n / std::max<int64_t>(grain, 1), 1);
  int workers = static_cast<int>(std::min<int64_t>(wanted, num_threads_));
  if (workers > 1 && team_ == nullptr && !OneTbbIsLost()) {
    NoteOneTbb();
    try {
      team_ = Team::Of(num_threads_);
    } catch (...) {
      if (!OneTbbIsLost()) throw;
    }
  }
  if (team_ != nullptr) workers = std::min(workers, team_->size());
  if (workers == 1 || OneTbbIsLost()) {
    function(context, 0, n, 0);
    return;
  }
  team_->Run({function, context, n, std::min(n, workers * kRangesPerThread), workers});
}

}  // namespace mluop
