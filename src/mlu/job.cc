// SPDX-License-Identifier: Apache-2.0
#include "mlu/job.h"

#include <algorithm>
#include <map>

#include "mlu/settings.h"

namespace bang {
namespace {

constexpr const char* kBarrierNames[] = {"__sync_cluster", "__sync_all_ipu_within_cluster",
                                         "__sync_all", "__sync_all_ipu", "__sync_all_mpu"};

const char* NameOf(Barrier barrier) { return kBarrierNames[static_cast<int>(barrier)]; }

}  // namespace

void LaunchState::Fail(const Violation& violation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failed()) return;
  violation_ = violation;
  failed_.store(true, std::memory_order_release);
}

void LaunchState::AddCounters(Core& core) {
  core.counters().nram_peak = core.memory(Space::kNram)->peak();
  core.counters().sram_peak = core.memory(Space::kSram)->peak();
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.total.Add(core.counters());
  if (core.is_memory_core()) return;
  const auto slot = static_cast<size_t>(core.slot());
  if (counters_.work.size() <= slot) counters_.work.resize(slot + 1);
  counters_.work[slot] += core.counters().Work();
}

Job::Member* Job::Find(const Core& core) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.core == &core; });
  return found == members_.end() ? nullptr : &*found;
}

// Returns the members of the barrier at which `waiting` waits.
std::vector<Job::Member*> Job::Participants(const Member& waiting) {
  std::vector<Member*> members;
  for (Member& member : members_) {
    const bool is_memory_core = member.core->is_memory_core();
    const bool is_same_cluster =
        member.core->built_ins().cluster_id == waiting.core->built_ins().cluster_id;
    bool takes_part = true;
    switch (waiting.barrier) {
      case Barrier::kCluster: takes_part = is_same_cluster; break;
      case Barrier::kClusterIpu: takes_part = is_same_cluster && !is_memory_core; break;
      case Barrier::kAll: break;
      case Barrier::kAllIpu: takes_part = !is_memory_core; break;
      case Barrier::kAllMpu: takes_part = is_memory_core; break;
    }
    if (takes_part) members.push_back(&member);
  }
  return members;
}

// Releases the barrier at which `waiting` waits if all have arrived.
bool Job::Complete(const Member& waiting) {
  const std::vector<Member*> members = Participants(waiting);
  for (const Member* member : members) {
    if (!member->WaitsAt(waiting.barrier)) return false;
  }
  NoteOddLine(members);
  for (Member* member : members) {
    member->state = Member::kRunning;
    ++member->passed;
  }
  condition_.notify_all();
  return true;
}

// Cores may meet at different lines. If the job gets stuck later, the first such meeting is the
// likely reason, and the line that the fewest cores came from is the likely place.
void Job::NoteOddLine(const std::vector<Member*>& members) {
  if (odd_.core != nullptr) return;
  std::map<int, std::vector<const Member*>> by_line;
  for (const Member* member : members) by_line[member->where.line].push_back(member);
  if (by_line.size() < 2) return;
  odd_ = *std::min_element(by_line.begin(), by_line.end(), [](const auto& a, const auto& b) {
            return a.second.size() < b.second.size();
          })->second[0];
}

// Returns whether the barrier at which `member` waits can no longer complete.
bool Job::IsStuck(const Member& member) {
  if (member.state != Member::kWaiting) return false;
  for (const Member* other : Participants(member)) {
    if (other->state == Member::kFinished) return true;
  }
  return std::none_of(members_.begin(), members_.end(),
                      [](const Member& other) { return other.state == Member::kRunning; });
}

void Job::FailIfStuck() {
  for (const Member& member : members_) {
    if (!IsStuck(member)) continue;
    const std::vector<Member*> all = Participants(member);
    const auto arrived = std::count_if(all.begin(), all.end(), [&](const Member* other) {
      return other->WaitsAt(member.barrier);
    });
    const Member& likely = odd_.core != nullptr ? odd_ : member;
    launch_.Fail({likely.core->Locate({NameOf(likely.barrier), likely.where}) +
                  "not all cores reach this barrier: " + std::to_string(arrived) + " of " +
                  std::to_string(all.size()) +
                  " wait, the others have returned or wait elsewhere"});
    condition_.notify_all();
    return;
  }
}

void Job::Wait(Core& core, Barrier barrier, Where where) {
  core.CheckAborted();
  std::unique_lock<std::mutex> lock(mutex_);
  Member* const self = Find(core);
  if (self == nullptr) return;  // a Block task
  const unsigned passed = self->passed;
  self->barrier = barrier;
  self->where = where;
  self->state = Member::kWaiting;
  if (!Complete(*self)) FailIfStuck();
  condition_.wait(lock, [&] { return self->passed != passed || launch_.failed(); });
  if (self->passed == passed) throw Aborted();
  core.PassBarrier(barrier != Barrier::kCluster && barrier != Barrier::kClusterIpu);
}

void Job::Finish(Core& core) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Member* const self = Find(core)) self->state = Member::kFinished;
  FailIfStuck();
}

void Job::WakeAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  condition_.notify_all();
}

void Wait(Barrier barrier, Where where) {
  Core& core = CoreOf(NameOf(barrier), where);
  // Whether a barrier waits for the core's own copies is not known: in strict mode it does not.
  if (!GetSettings().strict) core.Drain();
  core.job().Wait(core, barrier, where);
}

}  // namespace bang
