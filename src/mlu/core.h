// SPDX-License-Identifier: Apache-2.0
// A simulated core: its place in the grid, its memories, its instruction queues and its counters.
#pragma once

#include <deque>
#include <functional>
#include <random>
#include <string>

#include "bang/copy.h"
#include "bang/instruction.h"
#include "mlu/counters.h"
#include "mlu/on_chip_memory.h"

namespace bang {

class Job;
class LaunchState;

// Ends the task of the core that threw it; RunKernel reports the first one.
struct Violation {
  std::string message;
  bool is_architecture;  // the instruction does not exist on this architecture
};
// Ends the task of a core because another core failed.
struct Aborted {};

struct CoreMemories {
  CoreMemories();
  OnChipMemory nram, wram, ldram;
};

struct Place {
  int x = 0, y = 0, z = 0;  // taskIdX, taskIdY, taskIdZ
  int core = 0;             // coreId; kMemoryCore
  int cluster = 0;          // clusterId, the index of the cluster in its job
  int slot = 0;             // the core of the card, for the balance
};
inline constexpr int kMemoryCore = 0x80;

class Core {
 public:
  Core(LaunchState& launch, Job& job, const Place& place, CoreMemories& memories,
       OnChipMemory* sram);

  bool is_memory_core() const { return place_.core == kMemoryCore; }
  const Place& place() const { return place_; }
  Job& job() { return job_; }
  LaunchState& launch() { return launch_; }
  Counters& counters() { return counters_; }
  OnChipMemory* memory(Space space);  // NULL for GDRAM and host memory
  int task() const;

  Space SpaceOf(const void* pointer) const;

  // Runs `work` at once, after everything that was issued before.
  void RunNow(const std::function<void()>& work);
  // Runs `work` at the next synchronisation of its queue, at the latest.
  void Defer(Queue queue, std::function<void()> work);
  void Synchronize(const SyncSet& producers, const SyncSet& consumers);
  void Drain() { Synchronize({true, true, true}, {true, true, true}); }
  void CountVector(Kind kind, size_t elements);

  // "file:line: instruction in kernel k, task t (core c of cluster n): "
  std::string Locate(const char* instruction, Where where) const;
  // Throws Aborted if another core failed.
  void CheckAborted() const;

 private:
  struct Deferred {
    std::function<void()> run;
    bool overlapped = false;
  };
  void RunQueue(Queue queue);

  LaunchState& launch_;
  Job& job_;
  Place place_;
  CoreMemories& memories_;
  OnChipMemory* sram_;
  Counters counters_;
  std::deque<Deferred> queues_[3];
  std::minstd_rand random_;
};

// The core that the calling thread simulates; NULL outside a kernel.
Core* CurrentCore();
void SetCurrentCore(Core* core);
// The same for an instruction: fails with a message on a thread that runs no kernel.
Core& CoreOf(const char* instruction, Where where);

const char* SpaceName(Space space);

}  // namespace bang
