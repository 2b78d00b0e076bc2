// SPDX-License-Identifier: Apache-2.0
#include "mlu/job.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace bang {
namespace {

constexpr uint32_t kAtomicBit = 0x80000000;

bool TakesPart(const Core& core, const Barrier& barrier) {
  return core.is_memory_core() ? barrier.has_memory_cores : barrier.has_mlu_cores;
}

}  // namespace

const Epoch* Writers::Scan(std::span<uint32_t> tags, uint32_t me, bool is_sram, bool mark,
                           bool atomic) {
  const uint32_t tag = atomic ? me | kAtomicBit : me;
  uint32_t known = tag;  // the last tag that was found to be in order
  for (uint32_t& other_tag : tags) {
    if (other_tag != known && other_tag != 0) {
      const bool both_atomic = atomic && (other_tag & kAtomicBit) != 0;
      const Epoch& other = epochs_[other_tag & ~kAtomicBit];
      // Jobs have no order, but jobs that use the same SRAM run one after the other.
      const bool in_order = other.job == epochs_[me].job ? other.IsBefore(epochs_[me]) : is_sram;
      if (!both_atomic && !in_order) return &other;
      known = other_tag;
    }
    if (mark) other_tag = tag;
  }
  return nullptr;
}

const Epoch* Writers::Touch(const Block& block, bool is_sram, const Range& range, uint32_t epoch,
                            Access access) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_read = access == Access::kRead;
  // Returns the tags of the range.
  const auto tags = [&](bool of_readers) {
    std::shared_ptr<uint32_t>& shadow = shadows_[{block.begin, of_readers}];
    if (shadow == nullptr)  // pages of calloc that are never touched cost nothing
      shadow = {static_cast<uint32_t*>(std::calloc(block.bytes, sizeof(uint32_t))), std::free};
    if (shadow == nullptr) throw std::bad_alloc();
    return std::span(shadow.get() + (range.begin - block.begin), range.size());
  };
  if (is_read && !is_sram && !shadows_.contains({block.begin, false})) return nullptr;  // unwritten
  const Epoch* const other = Scan(tags(false), epoch, is_sram, !is_read, access == Access::kAtomic);
  if (other != nullptr || !is_sram) return other;
  if (!is_read) return Scan(tags(true), epoch, is_sram, false, false);
  std::ranges::fill(tags(true), epoch);
  return nullptr;
}

void LaunchState::AddCounters(Core& core) {
  core.counters.nram_peak = core.nram().peak();
  core.counters.sram_peak = core.sram().peak();
  if (!core.is_memory_core()) {
    core.counters.work.resize(core.slot);
    core.counters.work.push_back(core.counters.Work());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  counters.Add(core.counters);
}

uint8_t LaunchState::AddOrigin(const Issuer& issuer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::ranges::find_if(origins_, [&](const Issuer& other) {
    return other.name == issuer.name && other.where.line == issuer.where.line;
  });
  // Further instructions share the last number.
  if (found == origins_.end() && origins_.size() <= UINT8_MAX)
    found = origins_.insert(found, issuer);
  return static_cast<uint8_t>(std::min<ptrdiff_t>(found - origins_.begin(), UINT8_MAX));
}

// Returns the cores of the barrier at which `waiting` waits.
std::vector<Core*> Job::Participants(const Core& waiting) {
  const Barrier& barrier = waiting.arrival.barrier;
  std::vector<Core*> participants;
  for (Core& core : cores) {
    const bool is_same_cluster = core.built_ins.cluster_id == waiting.built_ins.cluster_id;
    if (TakesPart(core, barrier) && (is_same_cluster || !barrier.of_cluster))
      participants.push_back(&core);
  }
  return participants;
}

// Releases the barrier at which `waiting` waits if all have arrived.
bool Job::ReleaseIfComplete(const Core& waiting) {
  const std::vector<Core*> all = Participants(waiting);
  for (const Core* const core : all) {
    if (!core->arrival.WaitsAt(waiting.arrival.barrier)) return false;
  }
  NoteOddLine(all);
  for (Core* const core : all) core->arrival.state = Arrival::kRunning;
  condition_.notify_all();
  return true;
}

// Cores may meet at different lines. If the job gets stuck later, the first such meeting is the
// likely reason. The line that the fewest cores came from is the likely place.
void Job::NoteOddLine(const std::vector<Core*>& all) {
  const auto on_line_of = [&](const Core* core) {
    return std::ranges::count(all, core->arrival.where.line,
                              [](const Core* other) { return other->arrival.where.line; });
  };
  const Core* const rarest = *std::ranges::min_element(all, {}, on_line_of);
  const bool is_odd = on_line_of(rarest) < std::ssize(all);
  if (is_odd && odd_place_.empty()) odd_place_ = rarest->LocateBarrier();
}

// Fails the launch if a barrier can no longer complete.
void Job::FailIfStuck() {
  const auto is_running = [](const Core& core) { return core.arrival.state == Arrival::kRunning; };
  const bool none_runs = std::ranges::none_of(cores, is_running);
  for (const Core& core : cores) {
    if (core.arrival.state != Arrival::kWaiting) continue;
    const std::vector<Core*> all = Participants(core);
    const auto rank = [&](const Core* other) {  // -1: waits at this barrier
      return other->arrival.WaitsAt(core.arrival.barrier) ? -1 : int{other->arrival.state};
    };
    const Core* const missing = *std::ranges::max_element(all, {}, rank);
    const bool has_returned = missing->arrival.state == Arrival::kFinished;
    if (!has_returned && !none_runs) continue;
    launch_.Fail(
        {(odd_place_.empty() ? core.LocateBarrier() : odd_place_) +
         "not all cores reach this barrier: " + missing->epoch.Name() +
         (has_returned ? " has returned, "
                       : " waits at line " + std::to_string(missing->arrival.where.line) + ", ") +
         std::to_string(std::ranges::count(all, -1, rank)) + " of " + std::to_string(all.size()) +
         " wait here"});
    return condition_.notify_all();
  }
}

void Job::Wait(Core& core, const Barrier& barrier, Where where) {
  if (launch_.failed()) throw Violation();
  if (core.is_block()) return;
  if (!TakesPart(core, barrier))
    Violate(barrier.name, where, "%s takes no part in this barrier", core.epoch.Name().c_str());
  std::unique_lock<std::mutex> lock(mutex_);
  Arrival& own = core.arrival;
  own = {Arrival::kWaiting, barrier, where};
  ++(barrier.of_cluster ? core.epoch.cluster_barriers : core.epoch.job_barriers);
  core.epoch_number = launch_.writers.Begin(core.epoch);
  for (const auto& accesses : core.unfinished) {
    for (const auto& touch : accesses) touch();
  }
  if (!ReleaseIfComplete(core)) FailIfStuck();
  condition_.wait(lock, [&] { return own.state == Arrival::kRunning || launch_.failed(); });
  if (own.state == Arrival::kWaiting) throw Violation();
}

void Wait(const Barrier& barrier, Where where) {
  Core& core = CoreOf(barrier.name, where);
  // Whether a barrier waits for the core's own copies is not known: in strict mode it does not.
  if (!GetSettings().strict) core.Drain();
  core.job.Wait(core, barrier, where);
}

}  // namespace bang
