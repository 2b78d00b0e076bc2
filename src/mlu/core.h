// SPDX-License-Identifier: Apache-2.0
// A simulated core: its built-in variables, its memories, its instruction queues and its counters.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bang/copy.h"
#include "bang/language.h"
#include "mlu/memory.h"
#include "mlu/settings.h"

namespace bang {

class Job;
class LaunchState;

// Ends the task of the core that threw it; RunKernel reports the first one.
struct Violation {
  std::string message;
  bool is_architecture = false;  // the instruction does not exist on this architecture
};
// Ends the task of a core because another core failed.
struct Aborted {};

inline constexpr int kMemoryCore = 0x80;  // coreId

inline constexpr int kDirections = SRAM2SRAM + 1;
inline constexpr int kKinds = kAtomic + 1;

const char* DirectionName(int direction);

struct Counters {
  std::array<uint64_t, kDirections> bytes = {};
  std::array<uint64_t, kKinds> instructions = {}, elements = {};
  uint64_t copies = 0;
  uint64_t async_copies = 0;
  uint64_t overlapped_copies = 0;  // async copies with a vector instruction that no sync separates
  uint64_t gdram_filled = 0;       // bytes
  size_t nram_peak = 0;
  size_t sram_peak = 0;

  // Bytes and elements: the work of a core, for the balance.
  uint64_t Work() const;
  void Add(const Counters& other);
};

struct LaunchCounters {
  int launches = 0;
  Counters total;
  std::vector<uint64_t> work;  // by core of the card

  void Add(const LaunchCounters& other);
  // One "name value" pair per line.
  std::string Format() const;
};

// A core between two barriers.
struct Epoch {
  int job;
  int cluster;  // in the job
  int core;     // in the job, memory cores included
  int task;     // -1 on the memory core
  unsigned job_barriers = 0;
  unsigned cluster_barriers = 0;

  // Whether this access is ordered before an access in `later` of the same job.
  bool IsBefore(const Epoch& later) const {
    return core == later.core || job_barriers < later.job_barriers ||
           (cluster == later.cluster && cluster_barriers < later.cluster_barriers);
  }
  std::string Name() const { return task < 0 ? "the memory core" : "task " + std::to_string(task); }
};

enum class Access : uint8_t { kRead, kWrite, kAtomic };

// Where a core is among the barriers of its job, whose mutex guards it.
struct Arrival {
  enum { kRunning, kWaiting, kFinished } state = kRunning;
  Barrier barrier = {};
  Where where = Where();
  unsigned passed = 0;  // barriers

  bool WaitsAt(Barrier other) const { return state == kWaiting && barrier == other; }
};

class Core {
 public:
  using Memories = std::array<OnChipMemory*, 4>;  // by Space: NRAM, WRAM, SRAM, LDRAM

  // `job_number` identifies the job in its launch; `slot` is the core of the card, for the balance.
  Core(LaunchState& launch, Job& job, int job_number, int slot, const BuiltIns& built_ins,
       const Memories& memories);

  Arrival arrival;
  Counters counters;

  const BuiltIns& built_ins() const { return built_ins_; }
  bool is_memory_core() const { return built_ins_.core_id == kMemoryCore; }
  bool is_block() const { return built_ins_.cluster_dim == 0; }  // no SRAM and no barriers
  int slot() const { return slot_; }
  Job& job() { return job_; }
  LaunchState& launch() { return launch_; }
  OnChipMemory& nram() { return *memories_[kNram]; }
  OnChipMemory& sram() { return *memories_[kSram]; }
  OnChipMemory& on_chip(Space space) { return *memories_[space]; }
  Memory* memory(Space space) {
    if (space == kGdram) return &GetGdram();
    return &on_chip(space);
  }
  Space SpaceOf(const void* pointer) const;

  // Runs `work` not later than at the next synchronisation of its queue.
  void Defer(Queue queue, std::function<void()> work);
  void Synchronize(const QueueSet& producers, const QueueSet& consumers);
  void Drain() { Synchronize({true, true, true}, {true, true, true}); }
  void CountVector(Kind kind, size_t elements);
  bool is_idle(Queue queue) const { return queues_[queue].empty(); }

  // The accesses of instructions of `producer` that no synchronisation orders before `consumer`. Of
  // the same queue, which keeps its order: writes over results that nothing has read.
  struct Pending {
    IntervalMap reads, writes;
  };
  const Pending& pending(Queue producer, Queue consumer) const {
    return pending_[producer][consumer];
  }
  // Records that an instruction of `queue` accesses the range until the queue is synchronized.
  void AddPending(Queue queue, const Range& range, const Issuer& issuer, bool written,
                  bool over_unread);

  // The number of this core's epoch in LaunchState::writers().
  uint16_t epoch() const { return epoch_number_; }
  void PassBarrier(bool of_job);

  // "file:line: instruction in kernel k, task t (core c of cluster n): "
  std::string Locate(const Issuer& issuer) const;

 private:
  struct Deferred {
    std::function<void()> run;
    bool overlapped;
  };
  void RunFront(Queue queue);
  void RunSomeEarly();

  LaunchState& launch_;
  Job& job_;
  int slot_;
  BuiltIns built_ins_;
  Memories memories_;
  std::deque<Deferred> queues_[3];
  bool computing_ = false;  // a vector instruction was issued since the last synchronisation
  Pending pending_[3][3];   // by producer and consumer
  Epoch epoch_;
  uint16_t epoch_number_;
  std::minstd_rand random_;
};

// The core that the calling thread simulates; NULL outside a kernel.
extern thread_local Core* current_core;
// Returns current_core for an instruction. Fails with a message on a thread that runs no kernel.
Core& CoreOf(const char* instruction, Where where);

const char* SpaceName(Space space);

}  // namespace bang
