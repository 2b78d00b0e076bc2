// SPDX-License-Identifier: Apache-2.0
// A launch, and a job: the tasks of a launch that run at the same time and meet at barriers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "bang/launch.h"
#include "mlu/core.h"

namespace bang {

// Detects cores that access the same bytes of GDRAM or SRAM in one launch without a barrier between
// the accesses. Each byte keeps the core that wrote it last and, in SRAM, the one that read it last.
class Writers {
 public:
  // Returns the number of an epoch, for Touch.
  uint16_t Begin(const Epoch& epoch);

  // Records an access to a range of a block. Returns another core whose access is not ordered
  // before this one, or NULL.
  const Epoch* Touch(const Block& block, bool is_sram, const Range& range, uint16_t epoch,
                     Access access);

 private:
  struct Shadow {
    std::shared_ptr<uint16_t> writers, readers;  // of each byte
  };
  // Returns the first epoch in [first, last) that is not ordered before `me`; marks the range.
  const Epoch* Scan(uint16_t* first, uint16_t* last, uint16_t me, bool is_sram, bool mark,
                    bool atomic);

  std::mutex mutex_;
  std::map<const char*, Shadow> shadows_;  // by the begin of a block
  // Number 0: not accessed. A deque, because callers keep pointers to epochs while others begin.
  std::deque<Epoch> epochs_ = {{}};
};

// The state that all cores of a launch share.
class LaunchState {
 public:
  LaunchState(const LaunchSite& launch_site, const cnrtDim3_t& size, cnrtFunctionType_t type)
      : site(launch_site), dim(size), clusters_per_job(type == cnrtFuncTypeBlock ? 0 : type / 4) {}

  const LaunchSite& site;
  const cnrtDim3_t dim;
  const int clusters_per_job;  // 0: Block
  Entry entry = nullptr;
  void* const* arguments = nullptr;

  int tasks_per_job() const { return std::max(clusters_per_job * kCoresPerCluster, 1); }
  void Fail(const Violation& violation);  // the first one stays
  // A failure of the launch itself.
  Violation MakeViolation(const std::string& reason) const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const Violation& violation() const { return violation_; }
  void AddCounters(Core& core);
  const LaunchCounters& counters() const { return counters_; }
  Writers& writers() { return writers_; }

  // Instructions that read bytes which nothing had written. Their numbers are states of bytes.
  uint8_t AddOrigin(const Issuer& issuer);
  Issuer origin(uint8_t number);

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  Violation violation_ = {};
  LaunchCounters counters_;
  Writers writers_;
  std::vector<Issuer> origins_{kUnread + 1, {"", Where()}};  // behind the other states of a byte
};

// Records the end of a launch in its queue: a failure, or NULL, and the counters. Defined in
// device.cc.
void FinishLaunch(cnrtQueue_t queue, const Violation* violation, const LaunchCounters& counters);

class Job {
 public:
  explicit Job(LaunchState& launch) : launch_(launch) {}

  // Registers the cores of the job, before any of them runs. A Block task has no barriers.
  void Add(Core& core) { cores_.push_back(&core); }
  // Blocks until all cores of the barrier have arrived.
  void Wait(Core& core, Barrier barrier, Where where);
  // Records that the core has run its last instruction.
  void Finish(Core& core);
  // Fails the launch and wakes the cores that wait.
  void Fail(const Violation& violation);
  // The SRAM of a cluster of the job; NULL if there is no such cluster.
  OnChipMemory* sram(unsigned cluster) const;

 private:
  std::vector<Core*> Participants(const Core& waiting) const;
  bool ReleaseIfComplete(const Core& waiting);
  void NoteOddLine(const std::vector<Core*>& cores);
  void FailIfStuck();

  LaunchState& launch_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Core*> cores_;
  // The first barrier that cores reached at different lines: the core that is alone with its line.
  const Core* odd_ = nullptr;
  Arrival odd_arrival_;
};

}  // namespace bang
