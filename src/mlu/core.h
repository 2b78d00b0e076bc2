// SPDX-License-Identifier: Apache-2.0
// A simulated core: its built-in variables, its memories, its instruction queues and its counters.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bang/copy.h"
#include "bang/language.h"
#include "mlu/memory.h"
#include "mlu/settings.h"
#include "mlu_op.h"

namespace bang {

class Job;
class LaunchState;

// Ends the task of the core that threw it; RunKernel reports the first one. Other cores of the
// launch then end with an empty one.
struct Violation {
  std::string message;
  mluOpStatus_t status = MLUOP_STATUS_EXECUTION_FAILED;
};

inline constexpr int kMemoryCore = 0x80;  // coreId

inline constexpr int kDirections = SRAM2SRAM + 1;
inline constexpr int kKinds = kAtomic + 1;

inline constexpr const char* kSpaceNames[] = {"NRAM",  "WRAM",  "SRAM",
                                              "LDRAM", "GDRAM", "no memory of the card"};
#define BANG_NAME(direction, from, to) #direction,
inline constexpr const char* kDirectionNames[] = {BANG_DIRECTIONS(BANG_NAME) "gdramset"};

struct Counters {
  int launches = 0;
  std::array<uint64_t, kDirections + 1> bytes = {};  // by direction; behind them fills of GDRAM
  std::array<uint64_t, kKinds> instructions = {}, elements = {};
  uint64_t copies = 0;
  uint64_t async_copies = 0;
  uint64_t overlapped_copies = 0;  // async copies with a vector instruction that no sync separates
  size_t nram_peak = 0;
  size_t sram_peak = 0;
  std::vector<uint64_t> work = {};  // by core of the card, for the balance

  // Bytes and elements: the work of a core.
  uint64_t Work() const;
  void Add(const Counters& other);
  // One "name value" pair per line.
  std::string Format() const;
};

// A core between two barriers.
struct Epoch {
  int job;
  BuiltIns core;
  unsigned job_barriers = 0;
  unsigned cluster_barriers = 0;

  // Whether this access is ordered before an access in `later` of the same job.
  bool IsBefore(const Epoch& later) const {
    return job_barriers < later.job_barriers ||
           (core.cluster_id == later.core.cluster_id &&
            (core.core_id == later.core.core_id || cluster_barriers < later.cluster_barriers));
  }
  std::string Name() const {
    const bool is_memory_core = core.core_id == kMemoryCore;
    return is_memory_core ? "the memory core" : "task " + std::to_string(core.task_id());
  }
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// Where a core is among the barriers of its job, whose mutex guards it.
struct Arrival {
  enum { kRunning, kWaiting, kFinished } state = kRunning;
  Barrier barrier = {};
  Where where = Where();

  bool WaitsAt(const Barrier& other) const {
    return state == kWaiting && std::string_view(barrier.name) == other.name;
  }
};

class Core {
 public:
  using Memories = std::array<OnChipMemory*, 4>;  // by Space: NRAM, WRAM, SRAM, LDRAM

  // `job_number` identifies the job in its launch; `slot` is the core of the card, for the balance.
  Core(LaunchState& its_launch, Job& its_job, int job_number, size_t its_slot,
       const BuiltIns& values, const Memories& memories);

  LaunchState& launch;
  Job& job;
  const size_t slot;
  const BuiltIns built_ins;
  Arrival arrival;
  Counters counters;
  Epoch epoch;
  uint32_t epoch_number;  // in LaunchState::writers

  bool is_memory_core() const { return built_ins.core_id == kMemoryCore; }
  bool is_block() const { return built_ins.cluster_dim == 0; }  // no SRAM and no barriers
  OnChipMemory& nram() { return *memories_[kNram]; }
  OnChipMemory& sram() { return *memories_[kSram]; }
  Memory* memory(Space space) {
    return space == kGdram ? &GetGdram() : static_cast<Memory*>(memories_[space]);
  }
  Space SpaceOf(const void* pointer) const;

  // Runs `work` not later than at the next synchronisation of its queue.
  void Defer(Queue queue, std::function<void()> work);
  // Runs the deferred work of a queue. It stays unsynchronized.
  void Flush(Queue queue) {
    while (!is_idle(queue)) RunFront(queue);
  }
  void Synchronize(const QueueSet& producers, const QueueSet& consumers);
  void Drain() { Synchronize({true, true, true}, {true, true, true}); }
  // Counts an instruction. Copies overlap with the instructions of the Compute queue.
  void Count(Kind kind, size_t elements, Queue queue = kCompute);
  bool is_idle(Queue queue) const { return queues_[queue].empty(); }

  // The accesses of instructions of `producer` that no synchronisation orders before `consumer`. Of
  // the same queue, which keeps its order: writes over results that nothing has read.
  struct Pending {
    IntervalMap reads, writes;
  };
  Pending pending[3][3];  // by producer and consumer
  // Results of vector instructions that no instruction has read and no __sync() has made visible to
  // scalar code.
  IntervalMap unread = {};
  // Strict mode: accesses to SRAM and GDRAM that are not synchronized, by queue. Calling an
  // element records its access again, in the current epoch.
  std::vector<std::function<void()>> unfinished[3];

  // "file:line: instruction in kernel k, task t (core c of cluster n): "
  std::string Locate(const Issuer& issuer) const;
  std::string LocateBarrier() const { return Locate({arrival.barrier.name, arrival.where}); }

 private:
  void RunFront(Queue queue) {
    queues_[queue].front()();
    queues_[queue].pop_front();
  }
  // Strict mode: copies happen at any time between their issue and their synchronisation.
  void RunSomeEarly() {
    if (!GetSettings().strict) return;
    for (const Queue queue : {kIo, kMove}) {
      if (!is_idle(queue) && random_() % 4 == 0) RunFront(queue);
    }
  }

  Memories memories_;
  std::deque<std::function<void()>> queues_[3];
  bool computing_ = false;  // a vector instruction was issued since the last synchronisation
  std::array<uint64_t, 3> alone_ = {};  // copies of a queue that no computation overlaps yet
  std::minstd_rand random_;
};

// The core that the calling thread simulates; NULL outside a kernel.
extern thread_local Core* current_core;
// Returns current_core for an instruction. Fails with a message on a thread that runs no kernel.
Core& CoreOf(const char* instruction, Where where);

}  // namespace bang
