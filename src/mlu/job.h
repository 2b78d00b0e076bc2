// SPDX-License-Identifier: Apache-2.0
// A launch, and a job: the tasks of a launch that run at the same time and meet at barriers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "bang/launch.h"
#include "mlu/core.h"

namespace bang {

// Detects cores that access the same bytes of GDRAM or SRAM in one launch without a barrier between
// the accesses. Each byte keeps the core that wrote it last and, in SRAM, the one that read it last.
class Writers {
 public:
  // Returns the number of an epoch, for Touch.
  uint32_t Begin(const Epoch& epoch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    epochs_.push_back(epoch);
    return static_cast<uint32_t>(epochs_.size() - 1);
  }

  // Records an access to a range of a block. Returns another core whose access is not ordered
  // before this one, or NULL.
  const Epoch* Touch(const Block& block, bool is_sram, const Range& range, uint32_t epoch,
                     Access access);

 private:
  // Returns the first epoch of `tags` that is not ordered before `me`; marks the range.
  const Epoch* Scan(std::span<uint32_t> tags, uint32_t me, bool is_sram, bool mark, bool atomic);

  std::mutex mutex_;
  // The last epoch of each byte of a block, by its begin: writers (false) and readers (true).
  std::map<std::pair<const char*, bool>, std::shared_ptr<uint32_t>> shadows_;
  // Number 0: not accessed. A deque, because callers keep pointers to epochs while others begin.
  std::deque<Epoch> epochs_ = {{}};
};

// The state that all cores of a launch share.
class LaunchState {
 public:
  LaunchState(const LaunchSite& launch_site, Entry kernel, const void* values)
      : site(launch_site), entry(kernel), arguments(values) {}

  const LaunchSite& site;
  const Entry entry;
  const void* const arguments;
  const BuiltIns::Grid dim = {static_cast<int>(site.dim.x), static_cast<int>(site.dim.y),
                              static_cast<int>(site.dim.z)};
  const int clusters_per_job = site.type / cnrtFuncTypeUnion1;  // 0: Block
  Writers writers;
  Violation violation = {};  // once the launch has failed
  Counters counters = {.launches = 1};

  int tasks_per_job() const { return std::max(clusters_per_job * kCoresPerCluster, 1); }
  // Keeps the first failure.
  void Fail(const Violation& cause) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed()) return;
    violation = cause;
    failed_.store(true, std::memory_order_release);
  }
  // A failure of the launch itself.
  Violation MakeViolation(const std::string& reason) const {
    return {site.where.Text() + "launch of " + site.name + ": " + reason};
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void AddCounters(Core& core);

  // Instructions that read bytes which nothing had written. Their numbers are states of bytes.
  uint8_t AddOrigin(const Issuer& issuer);
  Issuer origin(uint8_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return origins_[number];
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::vector<Issuer> origins_{kWritten + 1, {"", Where()}};  // behind the other states of a byte
};

// Records the counters of a launch in its queue, and its failure. Defined in device.cc.
void FinishLaunch(const LaunchState& launch);

class Job {
 public:
  explicit Job(LaunchState& launch) : launch_(launch) {}

  // Complete before any of them runs. A Block task has one core and no barriers.
  std::deque<Core> cores;

  // Blocks until all cores of the barrier have arrived.
  void Wait(Core& core, const Barrier& barrier, Where where);
  // Records that the core has run its last instruction.
  void Finish(Core& core) {
    const std::lock_guard<std::mutex> lock(mutex_);
    core.arrival.state = Arrival::kFinished;
    FailIfStuck();
  }
  // Fails the launch and wakes the cores that wait.
  void Fail(const Violation& violation) {
    launch_.Fail(violation);
    const std::lock_guard<std::mutex> lock(mutex_);
    condition_.notify_all();
  }

 private:
  std::vector<Core*> Participants(const Core& waiting);
  bool ReleaseIfComplete(const Core& waiting);
  void NoteOddLine(const std::vector<Core*>& all);
  void FailIfStuck();

  LaunchState& launch_;
  std::mutex mutex_;
  std::condition_variable condition_;
  // The first barrier that cores reached at different lines: the core that is alone with its line.
  std::string odd_place_;
};

}  // namespace bang
