// SPDX-License-Identifier: Apache-2.0
#include "mlu/job.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "mlu/settings.h"

namespace bang {
namespace {

struct BarrierRule {
  const char* name;
  bool of_cluster, has_mlu_cores, has_memory_cores;
};
constexpr BarrierRule kBarriers[] = {  // in the order of Barrier
    {"__sync_cluster", true, true, true},
    {"__sync_all_ipu_within_cluster", true, true, false},
    {"__sync_all", false, true, true},
    {"__sync_all_ipu", false, true, false},
    {"__sync_all_mpu", false, false, true}};

const BarrierRule& RuleOf(Barrier barrier) { return kBarriers[static_cast<int>(barrier)]; }

constexpr uint16_t kMostEpochs = 0x7fff;
constexpr uint16_t kAtomicBit = 0x8000;

// Zeroed; the pages that are never touched cost nothing.
std::shared_ptr<uint16_t> AllocateShadow(size_t count) {
  auto* const tags = static_cast<uint16_t*>(std::calloc(count, sizeof(uint16_t)));
  if (tags == nullptr) throw std::bad_alloc();
  return {tags, std::free};
}

}  // namespace

uint16_t Writers::Begin(const Epoch& epoch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (epochs_.size() >= kMostEpochs) return 0;  // the accesses of further epochs are not recorded
  epochs_.push_back(epoch);
  return static_cast<uint16_t>(epochs_.size() - 1);
}

const Epoch* Writers::Scan(uint16_t* first, uint16_t* last, uint16_t me, bool is_sram, bool mark,
                           bool atomic) {
  const auto tag = static_cast<uint16_t>(atomic ? me | kAtomicBit : me);
  uint16_t known = tag;  // the last tag that was found to be in order
  for (uint16_t* p = first; p < last; ++p) {
    if (*p != known && *p != 0) {
      const bool both_atomic = atomic && (*p & kAtomicBit) != 0;
      const Epoch& other = epochs_[*p & ~kAtomicBit];
      // Jobs have no order, but jobs that use the same SRAM run one after the other.
      const bool is_same_job = other.job == epochs_[me].job;
      const bool in_order = is_same_job ? other.IsBefore(epochs_[me]) : is_sram;
      if (!both_atomic && !in_order) return &other;
      known = *p;
    }
    if (mark) *p = tag;
  }
  return nullptr;
}

const Epoch* Writers::Touch(const Block& block, bool is_sram, const Range& range, uint16_t epoch,
                            Access access) {
  if (epoch == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_read = access == Access::kRead;
  Shadow& shadow = shadows_[block.begin];
  if (is_read && !is_sram && shadow.writers == nullptr) return nullptr;  // unwritten
  if (shadow.writers == nullptr) shadow.writers = AllocateShadow(block.bytes);
  const auto offset = range.begin - block.begin;
  uint16_t* const writers = shadow.writers.get() + offset;
  const Epoch* const other =
      Scan(writers, writers + range.size(), epoch, is_sram, !is_read, access == Access::kAtomic);
  if (other != nullptr || !is_sram) return other;
  if (shadow.readers == nullptr) shadow.readers = AllocateShadow(block.bytes);
  uint16_t* const readers = shadow.readers.get() + offset;
  if (!is_read) return Scan(readers, readers + range.size(), epoch, is_sram, false, false);
  std::fill_n(readers, range.size(), epoch);
  return nullptr;
}

void LaunchState::Fail(const Violation& violation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failed()) return;
  violation_ = violation;
  failed_.store(true, std::memory_order_release);
}

Violation LaunchState::MakeViolation(const std::string& reason) const {
  return {site.where.Text() + "launch of " + site.name + ": " + reason};
}

void LaunchState::AddCounters(Core& core) {
  core.counters.nram_peak = core.nram().peak();
  core.counters.sram_peak = core.sram().peak();
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.total.Add(core.counters);
  if (core.is_memory_core()) return;
  const auto slot = static_cast<size_t>(core.slot());
  if (counters_.work.size() <= slot) counters_.work.resize(slot + 1);
  counters_.work[slot] += core.counters.Work();
}

uint8_t LaunchState::AddOrigin(const Issuer& issuer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found =
      std::find_if(origins_.begin() + kUnread + 1, origins_.end(), [&](const Issuer& other) {
        return other.name == issuer.name && other.where.line == issuer.where.line;
      });
  // Further instructions share the last number.
  if (found == origins_.end() && origins_.size() <= UINT8_MAX)
    found = origins_.insert(found, issuer);
  return static_cast<uint8_t>(std::min<ptrdiff_t>(found - origins_.begin(), UINT8_MAX));
}

Issuer LaunchState::origin(uint8_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return origins_[number];
}

// Returns the cores of the barrier at which `waiting` waits.
std::vector<Core*> Job::Participants(const Core& waiting) const {
  const BarrierRule& rule = RuleOf(waiting.arrival.barrier);
  std::vector<Core*> cores;
  for (Core* const core : cores_) {
    const bool is_same_cluster = core->built_ins().cluster_id == waiting.built_ins().cluster_id;
    const bool takes_part = core->is_memory_core() ? rule.has_memory_cores : rule.has_mlu_cores;
    if (takes_part && (is_same_cluster || !rule.of_cluster)) cores.push_back(core);
  }
  return cores;
}

// Releases the barrier at which `waiting` waits if all have arrived.
bool Job::ReleaseIfComplete(const Core& waiting) {
  const std::vector<Core*> cores = Participants(waiting);
  for (const Core* const core : cores) {
    if (!core->arrival.WaitsAt(waiting.arrival.barrier)) return false;
  }
  NoteOddLine(cores);
  for (Core* const core : cores) {
    core->arrival.state = Arrival::kRunning;
    ++core->arrival.passed;
  }
  condition_.notify_all();
  return true;
}

// Cores may meet at different lines. If the job gets stuck later, the first such meeting is the
// likely reason. The line that the fewest cores came from is the likely place.
void Job::NoteOddLine(const std::vector<Core*>& cores) {
  const auto on_line_of = [&](const Core* core) {
    return std::ranges::count(cores, core->arrival.where.line,
                              [](const Core* other) { return other->arrival.where.line; });
  };
  const Core* const rarest = *std::ranges::min_element(cores, {}, on_line_of);
  const bool is_odd = on_line_of(rarest) < std::ssize(cores);
  if (odd_ != nullptr || !is_odd) return;
  odd_ = rarest;
  odd_arrival_ = rarest->arrival;
}

// Fails the launch if a barrier can no longer complete.
void Job::FailIfStuck() {
  const auto is_running = [](const Core* core) { return core->arrival.state == Arrival::kRunning; };
  const bool none_runs = std::none_of(cores_.begin(), cores_.end(), is_running);
  for (const Core* const core : cores_) {
    if (core->arrival.state != Arrival::kWaiting) continue;
    size_t waiting = 0, finished = 0;
    const std::vector<Core*> all = Participants(*core);
    for (const Core* const other : all) {
      waiting += other->arrival.WaitsAt(core->arrival.barrier);
      finished += other->arrival.state == Arrival::kFinished;
    }
    if (finished == 0 && !none_runs) continue;
    const Arrival& place = odd_ != nullptr ? odd_arrival_ : core->arrival;
    launch_.Fail(
        {(odd_ != nullptr ? odd_ : core)->Locate({RuleOf(place.barrier).name, place.where}) +
         "not all cores reach this barrier: " + std::to_string(waiting) + " of " +
         std::to_string(all.size()) + " wait, the others have returned or wait elsewhere"});
    return condition_.notify_all();
  }
}

void Job::Wait(Core& core, Barrier barrier, Where where) {
  if (launch_.failed()) throw Aborted();
  std::unique_lock<std::mutex> lock(mutex_);
  if (core.is_block()) return;
  Arrival& own = core.arrival;
  const unsigned passed = own.passed;
  own = {Arrival::kWaiting, barrier, where, passed};
  if (!ReleaseIfComplete(core)) FailIfStuck();
  condition_.wait(lock, [&] { return own.passed != passed || launch_.failed(); });
  if (own.passed == passed) throw Aborted();
  core.PassBarrier(!RuleOf(barrier).of_cluster);
}

void Job::Finish(Core& core) {
  const std::lock_guard<std::mutex> lock(mutex_);
  core.arrival.state = Arrival::kFinished;
  FailIfStuck();
}

void Job::Fail(const Violation& violation) {
  launch_.Fail(violation);
  const std::lock_guard<std::mutex> lock(mutex_);
  condition_.notify_all();
}

OnChipMemory* Job::sram(unsigned cluster) const {
  for (Core* const core : cores_) {
    if (core->built_ins().cluster_id == static_cast<int>(cluster)) return &core->sram();
  }
  return nullptr;
}

void Wait(Barrier barrier, Where where) {
  Core& core = CoreOf(RuleOf(barrier).name, where);
  // Whether a barrier waits for the core's own copies is not known: in strict mode it does not.
  if (!GetSettings().strict) core.Drain();
  core.job().Wait(core, barrier, where);
}

}  // namespace bang
