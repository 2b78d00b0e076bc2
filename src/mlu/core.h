// SPDX-License-Identifier: Apache-2.0
// A simulated core: its built-in variables, its memories, its instruction queues and its counters.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bang/copy.h"
#include "bang/language.h"
#include "mlu/counters.h"
#include "mlu/interval_map.h"
#include "mlu/on_chip_memory.h"
#include "mlu/writers.h"

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

struct CoreMemories {
  CoreMemories();
  OnChipMemory nram, wram, ldram;
};
using Srams = std::vector<std::unique_ptr<OnChipMemory>>;  // by cluster of a job

inline constexpr int kMemoryCore = 0x80;  // coreId

class Core {
 public:
  // `job_number` identifies the job in its launch; `slot` is the core of the card, for the balance.
  Core(LaunchState& launch, Job& job, int job_number, int slot, const BuiltIns& built_ins,
       CoreMemories& memories, const Srams& srams);

  const BuiltIns& built_ins() const { return built_ins_; }
  bool is_memory_core() const { return built_ins_.core_id == kMemoryCore; }
  bool is_block() const { return built_ins_.cluster_dim == 0; }  // no SRAM and no barriers
  unsigned clusters() const { return static_cast<unsigned>(srams_.size()); }
  int slot() const { return slot_; }
  Job& job() { return job_; }
  LaunchState& launch() { return launch_; }
  Counters& counters() { return counters_; }
  OnChipMemory* memory(Space space);  // NULL for GDRAM and host memory
  OnChipMemory& sram(unsigned cluster) { return *srams_[cluster]; }
  Space SpaceOf(const void* pointer);

  // Runs `work` at the next synchronisation of its queue, at the latest.
  void Defer(Queue queue, std::function<void()> work);
  void Synchronize(const SyncSet& producers, const SyncSet& consumers);
  void Drain() { Synchronize({true, true, true}, {true, true, true}); }
  void CountVector(Kind kind, size_t elements);
  void CountCopy(mluMemcpyDirection_t direction, size_t bytes);
  bool is_idle(Queue queue) const { return queues_[static_cast<int>(queue)].empty(); }

  // An instruction of `queue` accesses the range until the queue is synchronized.
  void AddPending(Queue queue, const Range& range, const Issuer& issuer, bool written);
  // Returns an instruction of `producer` that is not ordered before `consumer` and conflicts with
  // its access to the range, or NULL.
  const Issuer* FindPending(Queue producer, Queue consumer, const Range& range, bool written,
                            bool* is_write) const;

  // The first instruction that read bytes which nothing had written, by the place of its result.
  void AddOrigin(const Range& result, Issuer issuer);
  const Issuer* FindOrigin(const Range& range) const;
  // The result of the running instruction has such bytes; Repoison marks them.
  void SetTainted(const Range& result) { tainted_ = result; }
  void Repoison();

  // The number of this core's epoch in LaunchState::writers().
  uint16_t epoch() const { return epoch_number_; }
  void PassBarrier(bool of_job);

  // "file:line: instruction in kernel k, task t (core c of cluster n): "
  std::string Locate(const Issuer& issuer) const;
  // Throws Aborted if another core failed.
  void CheckAborted() const;

 private:
  struct Deferred {
    std::function<void()> run;
    bool overlapped;
  };
  struct Pending {
    IntervalMap reads, writes;
  };
  void RunFront(Queue queue);
  void RunSomeEarly();

  LaunchState& launch_;
  Job& job_;
  int slot_;
  BuiltIns built_ins_;
  CoreMemories& memories_;
  const Srams& srams_;
  Counters counters_;
  std::deque<Deferred> queues_[3];
  bool computing_ = false;  // a vector instruction was issued since the last synchronisation
  Pending pending_[3][3];   // by producer and consumer
  std::vector<std::pair<Range, Issuer>> origins_;
  Range tainted_ = {};
  Epoch epoch_;
  uint16_t epoch_number_;
  std::minstd_rand random_;
};

// The core that the calling thread simulates; NULL outside a kernel.
Core* CurrentCore();
void SetCurrentCore(Core* core);
// The same for an instruction: fails with a message on a thread that runs no kernel.
Core& CoreOf(const char* instruction, Where where);

const char* SpaceName(Space space);

}  // namespace bang
