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
  LaunchState(const LaunchSite& launch_site, const cnrtDim3_t& size, cnrtFunctionType_t launch_type)
      : site(launch_site), dim(size), type(launch_type) {}

  const LaunchSite& site;
  const cnrtDim3_t dim;
  const cnrtFunctionType_t type;
  Entry entry = nullptr;
  void* const* arguments = nullptr;

  int clusters_per_job() const {
    return type == cnrtFuncTypeBlock ? 0 : static_cast<int>(type) / 4;
  }
  void Fail(const Violation& violation);  // the first one stays
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const Violation& violation() const { return violation_; }
  void AddCounters(Core& core);
  const LaunchCounters& counters() const { return counters_; }
  Writers& writers() { return writers_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  Violation violation_ = {};
  LaunchCounters counters_;
  Writers writers_;
};

// Records the end of a launch in its queue: a failure, or NULL, and the counters. Defined in
// device.cc.
void FinishLaunch(cnrtQueue_t queue, const Violation* violation, const LaunchCounters& counters);

class Job {
 public:
  explicit Job(LaunchState& launch) : launch_(launch) {}

  // Registers the cores of the job, before any of them runs. A Block task has none.
  void Add(const Core& core) { members_.push_back({&core}); }
  // Blocks until all cores of the barrier have arrived.
  void Wait(Core& core, Barrier barrier, Where where);
  // The core runs no more instructions.
  void Finish(Core& core);
  // Wakes the cores that wait, after a failure.
  void WakeAll();

 private:
  struct Member {
    const Core* core;
    enum { kRunning, kWaiting, kFinished } state = kRunning;
    Barrier barrier = {};
    Where where = Where();
    unsigned passed = 0;  // barriers

    bool WaitsAt(Barrier other) const { return state == kWaiting && barrier == other; }
  };

  Member* Find(const Core& core);
  std::vector<Member*> Participants(const Member& waiting);
  bool Complete(const Member& waiting);
  void NoteOddLine(const std::vector<Member*>& members);
  bool IsStuck(const Member& member);
  void FailIfStuck();

  LaunchState& launch_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Member> members_;
  // The first barrier that cores reached at different lines: the core that is alone with its line.
  Member odd_ = {nullptr};
};

}  // namespace bang
