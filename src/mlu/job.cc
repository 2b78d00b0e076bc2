// SPDX-License-Identifier: Apache-2.0
#include "mlu/job.h"

#include <algorithm>
#include <map>

#include "mlu/settings.h"

namespace bang {
namespace {

constexpr const char* kBarrierNames[] = {"__sync_cluster", "__sync_all_ipu_within_cluster",
                                         "__sync_all", "__sync_all_ipu", "__sync_all_mpu"};

}  // namespace

void LaunchState::Fail(const Violation& violation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failed()) return;
  violation_ = violation;
  failed_.store(true, std::memory_order_release);
}

void LaunchState::AddCounters(const Core& core, const Counters& counters) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.total.Add(counters);
  if (core.is_memory_core()) return;
  const auto slot = static_cast<size_t>(core.place().slot);
  if (counters_.work.size() <= slot) counters_.work.resize(slot + 1);
  counters_.work[slot] += counters.Work();
}

Job::Job(LaunchState& launch, int clusters)
    : launch_(launch), members_(static_cast<size_t>(clusters * kMembersPerCluster)) {}

int Job::IndexOf(const Core& core) {
  const int lane = core.is_memory_core() ? kCoresPerCluster : core.place().core;
  return core.place().cluster * kMembersPerCluster + lane;
}

// Returns whether member `index` takes part in the barrier at which `waiting` waits.
bool Job::IsMember(int index, const Member& waiting, int waiting_index) const {
  const bool is_memory_core = index % kMembersPerCluster == kCoresPerCluster;
  const bool same_cluster = index / kMembersPerCluster == waiting_index / kMembersPerCluster;
  switch (waiting.barrier) {
    case Barrier::kCluster: return same_cluster;
    case Barrier::kClusterIpu: return same_cluster && !is_memory_core;
    case Barrier::kAll: return true;
    case Barrier::kAllIpu: return !is_memory_core;
    case Barrier::kAllMpu: return is_memory_core;
  }
  return false;
}

// Releases the barrier at which member `index` waits if all have arrived.
bool Job::Complete(int index) {
  const Member waiting = members_[static_cast<size_t>(index)];
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    const Member& other = members_[static_cast<size_t>(i)];
    if (!IsMember(i, waiting, index)) continue;
    if (other.state != Member::kWaiting || other.barrier != waiting.barrier) return false;
  }
  NoteOddLine(index);
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    Member& other = members_[static_cast<size_t>(i)];
    if (!IsMember(i, waiting, index)) continue;
    other.state = Member::kRunning;
    ++other.passed;
  }
  condition_.notify_all();
  return true;
}

// Cores may meet at different lines. If the job gets stuck later, the first such meeting is the
// likely reason, and the line that the fewest cores came from is the likely place.
void Job::NoteOddLine(int index) {
  if (odd_core_ != nullptr) return;
  const Member& waiting = members_[static_cast<size_t>(index)];
  std::map<int, int> lines;
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    if (IsMember(i, waiting, index)) ++lines[members_[static_cast<size_t>(i)].where.line];
  }
  if (lines.size() < 2) return;
  const auto rarest = std::min_element(
      lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    const Member& member = members_[static_cast<size_t>(i)];
    if (!IsMember(i, waiting, index) || member.where.line != rarest->first) continue;
    odd_core_ = member.core;
    odd_barrier_ = member.barrier;
    odd_where_ = member.where;
  }
}

// Returns whether the barrier at which member `index` waits can no longer complete.
bool Job::IsStuck(int index) const {
  const Member& waiting = members_[static_cast<size_t>(index)];
  if (waiting.state != Member::kWaiting) return false;
  bool all_wait = true;
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    const Member& other = members_[static_cast<size_t>(i)];
    if (IsMember(i, waiting, index) && other.state == Member::kFinished) return true;
    all_wait &= other.state != Member::kRunning;
  }
  return all_wait;
}

void Job::FailIfStuck() {
  for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
    if (!IsStuck(i)) continue;
    const Member& member = members_[static_cast<size_t>(i)];
    const bool odd = odd_core_ != nullptr;
    const Core& core = odd ? *odd_core_ : *member.core;
    const char* const name = kBarrierNames[static_cast<int>(odd ? odd_barrier_ : member.barrier)];
    int arrived = 0, all = 0;
    for (int k = 0; k < static_cast<int>(members_.size()); ++k) {
      if (!IsMember(k, member, i)) continue;
      ++all;
      const Member& other = members_[static_cast<size_t>(k)];
      arrived += other.state == Member::kWaiting && other.barrier == member.barrier;
    }
    launch_.Fail({core.Locate(name, odd ? odd_where_ : member.where) +
                      "not all cores reach this barrier: " + std::to_string(arrived) + " of " +
                      std::to_string(all) + " wait, the others have returned or wait elsewhere",
                  false});
    condition_.notify_all();
    return;
  }
}

void Job::Wait(Core& core, Barrier barrier, Where where) {
  core.CheckAborted();
  if (members_.empty()) return;  // a Block task
  std::unique_lock<std::mutex> lock(mutex_);
  const int index = IndexOf(core);
  Member& self = members_[static_cast<size_t>(index)];
  const unsigned passed = self.passed;
  self.core = &core;
  self.barrier = barrier;
  self.where = where;
  self.state = Member::kWaiting;
  if (!Complete(index)) FailIfStuck();
  condition_.wait(lock, [&] { return self.passed != passed || launch_.failed(); });
  if (self.passed == passed) throw Aborted();
  core.PassBarrier(barrier != Barrier::kCluster && barrier != Barrier::kClusterIpu);
}

void Job::Finish(Core& core) {
  if (members_.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  members_[static_cast<size_t>(IndexOf(core))].state = Member::kFinished;
  FailIfStuck();
}

void Job::WakeAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  condition_.notify_all();
}

void Wait(Barrier barrier, Where where) {
  Core& core = CoreOf(kBarrierNames[static_cast<int>(barrier)], where);
  // Whether a barrier waits for the core's own copies is not known: in strict mode it does not.
  if (!GetSettings().strict) core.Drain();
  core.job().Wait(core, barrier, where);
}

}  // namespace bang
