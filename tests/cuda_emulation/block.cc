// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "fiber.h"
#include "symbols.h"

// The static shared memory of all kernels; shared_memory.ld defines its limits.
extern "C" char mluops_shared_begin[], mluops_shared_end[];

namespace emulation {

Index thread_index, block_index, block_size, grid_size;

namespace {

enum class State { kReady, kAtBarrier, kAtIntrinsic, kEnded };

void RunThread();

struct Thread {
  Fiber fiber{&RunThread};
  State state = State::kReady;
  Place place;                      // where it waits
  const char* intrinsic = nullptr;  // at which it waits
  uint32_t mask = 0;                // passed to the intrinsic
  uint64_t value = 0;               // passed to the barrier or the intrinsic
  Met met = {};                     // the result of the intrinsic
  // Committed groups, then the open one.
  std::vector<std::vector<AsyncCopy>> copies{1};
};

struct Warp {
  uint32_t alive = 0;    // lanes that have not ended
  uint32_t waiting = 0;  // lanes at an intrinsic
};

const Launch* launch = nullptr;
bool is_reversed = false;  // threads and blocks run in descending order
std::vector<Warp> warps;
std::vector<std::unique_ptr<Thread>> threads;
int current = 0;  // the thread that runs
int barrier_count = 0;
char* dynamic_shared = nullptr;
std::string failure;

Thread& ThreadAt(int index) { return *threads[static_cast<size_t>(index)]; }
Thread& Self() { return ThreadAt(current); }

Warp& WarpOf(int index) { return warps[static_cast<size_t>(index / kLanes)]; }

bool IsSame(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

// Releases the lanes in the mask of a waiting thread. Returns false if a lane that has not ended is
// not at the same intrinsic with the same mask.
bool ReleaseLanes(int index) {
  const Thread& waiting = ThreadAt(index);
  Warp& warp = WarpOf(index);
  const int first = index / kLanes * kLanes;
  const uint32_t lanes = waiting.mask & warp.alive;
  if ((lanes & ~warp.waiting) != 0) return false;
  Met met = {lanes, {}};
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Thread& other = ThreadAt(first + lane);
    if (other.mask != waiting.mask || !IsSame(other.intrinsic, waiting.intrinsic)) return false;
    met.values[lane] = other.value;
  }
  warp.waiting &= ~lanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    Thread& other = ThreadAt(first + lane);
    other.met = met;
    other.state = State::kReady;
  }
  return true;
}

// Other lanes may have waited for this one only.
void EndThread() {
  Self().state = State::kEnded;
  Warp& warp = WarpOf(current);
  warp.alive &= ~(1u << current % kLanes);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((warp.waiting >> lane & 1) != 0) ReleaseLanes(current / kLanes * kLanes + lane);
  }
}

void RunThread() {
  for (;;) {
    launch->call(launch->kernel, launch->parameters);
    CommitCopies();
    WaitForCopies(0);
    EndThread();
    Fiber::Suspend();
  }
}

std::string TextOf(Place place) {
  const char* const slash = std::strrchr(place.file, '/');
  return std::string(slash == nullptr ? place.file : slash + 1) + ":" + std::to_string(place.line);
}

// "thread 5 waits in __shfl_sync, forward.cu:20"
std::string TextOf(int index) {
  const Thread& thread = ThreadAt(index);
  const std::string name = "thread " + std::to_string(index);
  switch (thread.state) {
    case State::kEnded: return name + " has ended";
    case State::kAtBarrier: return name + " waits at the barrier " + TextOf(thread.place);
    case State::kAtIntrinsic:
      return name + " waits in " + thread.intrinsic + ", " + TextOf(thread.place);
    default: return name + " runs";
  }
}

void Record(const std::string& message) {
  if (!failure.empty()) return;
  failure =
      NameOfKernel(launch->kernel) + ", block " + std::to_string(block_index.x) + ": " + message;
}

// Calls visit(i) for all i in [0, count), in the order of the launch.
template <class Visit>
void ForEachInOrder(int64_t count, const Visit& visit) {
  for (int64_t i = 0; i < count && failure.empty(); ++i) visit(is_reversed ? count - 1 - i : i);
}

// Runs the threads of a warp until all of them wait or have ended. Returns whether one could run.
bool RunWarp(int warp) {
  const int first = warp * kLanes;
  bool any = false;
  for (bool ran = true; ran;) {
    ran = false;
    ForEachInOrder(std::min(kLanes, launch->threads - first), [&](int64_t lane) {
      const int index = first + static_cast<int>(lane);
      Thread& thread = ThreadAt(index);
      if (thread.state != State::kReady) return;
      ran = any = true;
      current = index;
      thread_index.x = static_cast<unsigned>(current);
      thread.fiber.Resume();
    });
  }
  return any;
}

// Releases the barrier if all threads wait there. Otherwise records which threads do not.
void ReleaseBarrier() {
  const Thread* first = nullptr;
  int first_index = 0;
  barrier_count = 0;
  for (int i = 0; i < launch->threads; ++i) {
    const Thread& thread = ThreadAt(i);
    if (thread.state == State::kEnded) continue;
    if (first == nullptr) first = &thread, first_index = i;
    const bool same = thread.state == State::kAtBarrier && first->state == State::kAtBarrier &&
                      thread.place.line == first->place.line &&
                      IsSame(thread.place.file, first->place.file);
    if (!same && (i != first_index || thread.state != State::kAtBarrier)) {
      int other = first_index;  // for an intrinsic, a lane that is missing
      for (int lane = 0; thread.state == State::kAtIntrinsic && lane < kLanes; ++lane) {
        const int index = i / kLanes * kLanes + lane;
        if (index >= launch->threads || (thread.mask >> lane & 1) == 0) continue;
        const Thread& met = ThreadAt(index);
        if (met.state == State::kEnded) continue;
        if (met.state != State::kAtIntrinsic || met.mask != thread.mask) other = index;
      }
      return Record("deadlock: " + TextOf(i) + ", " + TextOf(other));
    }
    barrier_count += thread.value != 0 ? 1 : 0;
  }
  for (int i = 0; i < launch->threads; ++i) {
    Thread& thread = ThreadAt(i);
    if (thread.state == State::kAtBarrier) thread.state = State::kReady;
  }
}

bool AllEnded() {
  return std::all_of(warps.begin(), warps.end(), [](const Warp& warp) { return warp.alive == 0; });
}

// Fills shared memory with a pattern, NaN as a number. Not memset: between variables
// AddressSanitizer forbids accesses.
[[gnu::no_sanitize_address]] void PoisonStaticShared() {
  const uintptr_t bytes = reinterpret_cast<uintptr_t>(mluops_shared_end) -
                          reinterpret_cast<uintptr_t>(mluops_shared_begin);
  volatile char* const shared = mluops_shared_begin;
  for (uintptr_t i = 0; i < bytes; ++i) shared[i] = -1;
}

void RunBlock(int64_t index) {
  block_index.x = static_cast<unsigned>(index);
  std::memset(dynamic_shared, 0xff, launch->shared_bytes);
  for (int i = 0; i < launch->threads; ++i) {
    ThreadAt(i).state = State::kReady;
  }
  const auto whole = static_cast<size_t>(launch->threads / kLanes);
  warps.assign(whole, {~0u, 0});
  if (launch->threads % kLanes != 0) warps.push_back({(1u << launch->threads % kLanes) - 1, 0});
  for (;;) {
    bool any = false;
    ForEachInOrder(static_cast<int64_t>(warps.size()),
                   [&](int64_t warp) { any |= RunWarp(static_cast<int>(warp)); });
    if (!failure.empty() || AllEnded()) return;
    if (!any) ReleaseBarrier();
  }
}

}  // namespace

std::string Run(const Launch& started) {
  const char* const order = std::getenv("MLUOP_EMULATED_ORDER");
  is_reversed = order != nullptr && std::strcmp(order, "reverse") == 0;
  launch = &started;
  failure.clear();
  block_size.x = static_cast<unsigned>(started.threads);
  grid_size.x = static_cast<unsigned>(started.blocks);
  while (threads.size() < static_cast<size_t>(started.threads))
    threads.push_back(std::make_unique<Thread>());
  PoisonStaticShared();
  // Exactly sized, so that AddressSanitizer finds accesses beyond it.
  constexpr std::align_val_t kAlignment{128};
  dynamic_shared = static_cast<char*>(operator new(started.shared_bytes, kAlignment));
  ForEachInOrder(started.blocks, RunBlock);
  operator delete(dynamic_shared, kAlignment);
  if (!failure.empty()) threads.clear();  // they wait in the middle of the kernel
  return failure;
}

int Barrier(bool value, Place place) {
  Thread& self = Self();
  self.state = State::kAtBarrier;
  self.place = place;
  self.value = value ? 1 : 0;
  Fiber::Suspend();
  return barrier_count;
}

const Met& Meet(const char* intrinsic, uint32_t mask, uint64_t value, Place place) {
  Thread& self = Self();
  const uint32_t own = 1u << current % kLanes;
  if ((mask & own) == 0) Fail("the lane is missing in its own mask", place);
  self.state = State::kAtIntrinsic;
  self.intrinsic = intrinsic;
  self.place = place;
  self.mask = mask;
  self.value = value;
  WarpOf(current).waiting |= own;
  if (!ReleaseLanes(current)) Fiber::Suspend();
  return self.met;
}

void Fail(const std::string& message, Place place) {
  Record("thread " + std::to_string(current) + ", " + TextOf(place) + ": " + message);
  for (;;) Fiber::Suspend();
}

char* DynamicShared() { return dynamic_shared; }

void StartCopy(const AsyncCopy& copy) { Self().copies.back().push_back(copy); }
void CommitCopies() { Self().copies.emplace_back(); }
void WaitForCopies(size_t prior) {
  auto& groups = Self().copies;
  while (groups.size() - 1 > prior) {
    for (const AsyncCopy& copy : groups.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
      std::memset(static_cast<char*>(copy.to) + copy.bytes - copy.zeros, 0, copy.zeros);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace emulation
