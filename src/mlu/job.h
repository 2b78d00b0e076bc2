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
  void AddCounters(const Core& core, const Counters& counters);
  const LaunchCounters& counters() const { return counters_; }
  Writers& writers() { return writers_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  Violation violation_ = {};
  LaunchCounters counters_;
  Writers writers_;
};

class Job {
 public:
  Job(LaunchState& launch, int clusters);

  // Blocks until all cores of the barrier have arrived.
  void Wait(Core& core, Barrier barrier, Where where);
  // The core runs no more instructions.
  void Finish(Core& core);
  // Wakes the cores that wait, after a failure.
  void WakeAll();

 private:
  struct Member {
    enum { kRunning, kWaiting, kFinished } state = kRunning;
    const Core* core = nullptr;
    Barrier barrier = {};
    Where where;
    unsigned passed = 0;  // barriers
  };
  static constexpr int kMembersPerCluster = 5;

  static int IndexOf(const Core& core);
  bool IsMember(int index, const Member& waiting, int waiting_index) const;
  bool Complete(int index);
  void NoteOddLine(int index);
  bool IsStuck(int index) const;
  void FailIfStuck();

  LaunchState& launch_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::vector<Member> members_;
  // The first barrier that cores reached at different lines: the core that is alone with its line.
  const Core* odd_core_ = nullptr;
  Barrier odd_barrier_ = {};
  Where odd_where_;
};

}  // namespace bang
