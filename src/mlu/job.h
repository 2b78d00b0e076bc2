// SPDX-License-Identifier: Apache-2.0
// A launch, and a job: the tasks of a launch that run at the same time and meet at barriers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "bang/launch.h"
#include "mlu/core.h"

namespace bang {

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
  std::vector<Issuer> origins_ = {{"", Where()}, {"", Where()}};  // after kUnwritten and kWritten
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
