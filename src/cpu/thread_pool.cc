// SPDX-License-Identifier: Apache-2.0
// The process-wide pool (docs/decisions/0002-threads.md). A caller publishes its loop in a slot and
// sets the slot's bit in `open_slots`; workers that search for work join open loops. The pool has
// no lock that a fork could leave locked. No object has a destructor that could run at exit while a
// worker uses it. Atomic operations are sequentially consistent unless stated: several places need
// store-load ordering (Dekker's pattern).
#include "cpu/thread_pool.h"

#include <hwy/cache_control.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <thread>

#include "core/call_steps.h"
#include "core/environment.h"
#include "cpu/floating_point.h"

namespace mluop {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kRangesPerThread = 4;  // enough that a slow core does not delay the others

// The time that a worker spins before it sleeps. A spinning worker joins a loop within 1 us; a
// sleeping one needs 20 to 50 us, longer than a small loop takes.
constexpr std::chrono::microseconds kSpinTime(100);

constexpr std::chrono::milliseconds kRetryTime(100);  // after the system refused a thread
constexpr int kNumSlots = 64;  // concurrent loops, one per bit; further callers compute alone

// One loop, on its caller's stack.
struct Loop {
  void (*function)(const void* context, int64_t begin, int64_t end, int worker);
  const void* context;
  int64_t n, num_ranges;
  int num_threads;             // including the caller
  int caller_core;             // -1: unknown
  std::atomic<int> vacancies;  // workers that may still join
  std::atomic<bool> failed;
  std::exception_ptr error;  // the first exception of the body
};

struct alignas(64) Slot {
  Loop* loop;
  std::atomic<int> inside;  // workers that may access `loop`
};

// The ranges that one thread takes first. Worker i owns slice i.
struct alignas(64) Slice {
  std::atomic<int64_t> next_range;
  int64_t end_range;
  std::atomic<bool> owned;
};

constinit Slot slots[kNumSlots] = {};
constinit Slice slices[kNumSlots][kMaxThreads] = {};        // pages become resident on first use
alignas(64) constinit std::atomic<uint64_t> open_slots{0};  // slots whose loops need more workers
alignas(64) constinit std::atomic<uint64_t> used_slots{0};  // slots that belong to a caller

// A worker is searching (from the moment it is woken or started), sleeping, or in a loop.
alignas(64) constinit std::atomic<int> searching{0}, sleeping{0}, started{0};
constinit std::atomic<int> wake_permits{0};   // wake-ups that no worker has consumed yet
constinit std::atomic<bool> starting{false};  // a caller is starting workers
constinit std::atomic<Clock::rep> retry_at{0};

// Empties the pool in the child, which has one thread and none of its parent's workers.
void ResetAfterFork() {
  open_slots = used_slots = 0;
  searching = sleeping = started = wake_permits = 0;
  starting = false;
  for (Slot& slot : slots) slot.inside = 0;
}

// Initialised when the library is loaded, because a fork could interrupt a later initialisation.
const int num_cores = static_cast<int>(std::thread::hardware_concurrency());
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, ResetAfterFork);

// Moves the calling thread to another core, if its affinity allows one. The kernel of a virtual
// machine often wakes a worker on its caller's core although another core is idle. The two threads
// then alternate in time slices of 2 to 4 ms.
void MigrateOffCore(int core) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

// Takes the ranges of the worker's own slice first. They are the same in every loop of this size,
// so its cache may still hold their data. Then steals from the other slices.
void Work(Loop& loop, Slice* loop_slices, int worker) {
  const int64_t size = loop.n / loop.num_ranges;
  const int64_t remainder = loop.n % loop.num_ranges;  // ranges with one more element
  try {
    for (int i = 0; i < loop.num_threads; ++i) {
      Slice& slice = loop_slices[(worker + i) % loop.num_threads];
      const auto next = [&] { return slice.next_range.fetch_add(1, std::memory_order_relaxed); };
      for (int64_t range = next(); range < slice.end_range; range = next()) {
        const int64_t begin = range * size + std::min(range, remainder);
        loop.function(loop.context, begin, begin + size + (range < remainder ? 1 : 0), worker);
      }
    }
  } catch (...) {
    if (!loop.failed.exchange(true)) loop.error = std::current_exception();
  }
}

// Calls futex(2) on wake_permits. std::atomic::wait yields its core before it sleeps, which takes
// milliseconds on a busy machine. A loop of 240 us of work after 20 ms idle (2 threads) takes 250
// us with std::atomic::wait, 170 us with the futex.
void Futex(int operation, int value) {
  syscall(SYS_futex, &wake_permits, operation, value, nullptr, nullptr, 0);
}

// Wakes up to `count` workers and returns their number.
int WakeWorkers(int count) {
  int asleep = sleeping;
  while (!sleeping.compare_exchange_weak(asleep, asleep - std::min(asleep, count))) {
  }
  const int woken = std::min(asleep, count);
  searching += woken;
  wake_permits += woken;
  if (woken > 0) Futex(FUTEX_WAKE_PRIVATE, woken);
  return woken;
}

void Sleep() {
  ++sleeping;
  --searching;
  // A caller that counted this worker as searching woke no other. Wakes one for its loop.
  if (open_slots != 0) WakeWorkers(1);
  int permits = wake_permits;
  while (permits == 0 || !wake_permits.compare_exchange_weak(permits, permits - 1)) {
    Futex(FUTEX_WAIT_PRIVATE, 0);  // returns at once if a permit is left
    permits = wake_permits;
  }
}

// Joins the loop of a slot that was open, unless it has been closed or is full. `woken`: the worker
// has joined no loop since it slept.
void JoinLoop(int index, int id, bool* woken) {
  Slot& slot = slots[index];
  const uint64_t bit = uint64_t{1} << index;
  ++slot.inside;
  // The caller clears the bit, then waits for the workers inside. Either it sees this worker, or
  // this worker sees the cleared bit. If the bit is set for the slot's next loop, the worker joins
  // that one.
  const int vacancies = (open_slots & bit) != 0 ? slot.loop->vacancies.fetch_sub(1) : 0;
  if (vacancies == 1) open_slots &= ~bit;
  if (vacancies >= 1) {
    Loop& loop = *slot.loop;
    --searching;
    // A caller may have relied on this worker, which is now busy. Wakes a replacement.
    if (open_slots != 0 && searching <= 0) WakeWorkers(1);
    if (*woken && sched_getcpu() == loop.caller_core) MigrateOffCore(loop.caller_core);
    *woken = false;
    int worker = id % (loop.num_threads - 1) + 1;  // the same index in every loop, if free
    while (slices[index][worker].owned.exchange(true)) worker = worker % (loop.num_threads - 1) + 1;
    Work(loop, slices[index], worker);
    ++searching;
  }
  --slot.inside;
}

void RunWorker(int id) {
  const DefaultFloatingPoint floating_point;
  int last = 0;  // the slot joined last
  while (true) {
    bool woken = true;
    for (auto end = Clock::now() + kSpinTime; Clock::now() < end;) {
      if (const uint64_t open = open_slots; open != 0) {
        // Starts after the last slot, so that all callers get workers in turn.
        last = (last + 1 + std::countr_zero(std::rotr(open, last + 1))) % kNumSlots;
        JoinLoop(last, id, &woken);
        end = Clock::now() + kSpinTime;
      } else {
        for (int i = 0; i < 8; ++i) hwy::Pause();
      }
    }
    Sleep();
  }
}

// Wakes sleeping workers, then starts new ones, until `wanted` workers search or the limit is
// reached: one worker per core, less one for the caller, or `wanted` if that is more.
void WakeOrStartWorkers(int wanted) {
  int missing = wanted - searching;
  if (missing > 0) missing -= WakeWorkers(missing);
  const int limit = std::max(num_cores - 1, wanted);
  if (missing <= 0 || started >= limit || starting.exchange(true)) return;
  const auto now = Clock::now();
  for (; missing > 0 && started < limit && now.time_since_epoch().count() >= retry_at; --missing) {
    ++searching;
    try {
      std::thread(RunWorker, started++).detach();
    } catch (...) {  // the system refused a thread, or the memory for it
      --started;
      retry_at = (now + kRetryTime).time_since_epoch().count();
      // Another caller may have counted this thread as searching. Wakes a worker for its loop.
      if (--searching <= 0 && open_slots != 0) WakeWorkers(1);
    }
  }
  starting = false;
}

// Returns the index of a free slot, which then belongs to the caller, or -1.
int TakeSlot() {
  for (uint64_t used = used_slots; ~used != 0;) {
    const int index = std::countr_one(used);
    if (used_slots.compare_exchange_weak(used, used | uint64_t{1} << index)) return index;
  }
  return -1;
}

}  // namespace

void ThreadPool::Run(int64_t n, int64_t grain, Function function, const void* context) const {
  if (n <= 0) return;
  const int64_t wanted = std::max<int64_t>(n / std::max<int64_t>(grain, 1), 1);
  const auto threads = static_cast<int>(std::min<int64_t>({wanted, num_threads_, kMaxThreads}));
  const int64_t num_ranges = threads > 1 ? std::min(n, threads * kRangesPerThread) : 1;
  CallSteps::Add({n, num_ranges, threads});
  const int index = threads > 1 ? TakeSlot() : -1;
  if (index < 0) return function(context, 0, n, 0);
  Loop loop = {function, context, n, num_ranges, threads, sched_getcpu(), threads - 1, false, {}};
  for (int i = 0; i < threads; ++i) {
    Slice& slice = slices[index][i];
    slice.next_range.store(num_ranges * i / threads, std::memory_order_relaxed);
    slice.end_range = num_ranges * (i + 1) / threads;
    slice.owned.store(false, std::memory_order_relaxed);
  }
  const uint64_t bit = uint64_t{1} << index;
  slots[index].loop = &loop;
  open_slots |= bit;
  WakeOrStartWorkers(threads - 1);
  Work(loop, slices[index], 0);
  open_slots &= ~bit;
  for (int i = 0; slots[index].inside != 0; ++i)
    i < 1000 ? hwy::Pause() : std::this_thread::yield();
  used_slots &= ~bit;
  if (loop.failed) std::rethrow_exception(loop.error);
}

}  // namespace mluop
