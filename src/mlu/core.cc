// SPDX-License-Identifier: Apache-2.0
#include "mlu/core.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "mlu/gdram.h"
#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

thread_local Core* current_core = nullptr;

constexpr size_t kLdramBytes = 4 << 20;  // per core; the size of a card's LDRAM is not known

}  // namespace

Core* CurrentCore() { return current_core; }
void SetCurrentCore(Core* core) { current_core = core; }

Core& CoreOf(const char* instruction, Where where) {
  if (current_core == nullptr) Violate(instruction, where, "runs in a kernel only");
  return *current_core;
}

const char* SpaceName(Space space) {
  constexpr const char* kNames[] = {"NRAM", "WRAM", "SRAM", "LDRAM", "GDRAM", "host memory"};
  return kNames[static_cast<int>(space)];
}

CoreMemories::CoreMemories()
    : nram(Space::kNram, GetSettings().card->nram_bytes),
      wram(Space::kWram, GetSettings().card->wram_bytes),
      ldram(Space::kLdram, kLdramBytes) {}

Core::Core(LaunchState& launch, Job& job, int job_number, int slot, const BuiltIns& built_ins,
           CoreMemories& memories, const Srams& srams)
    : launch_(launch),
      job_(job),
      slot_(slot),
      built_ins_(built_ins),
      memories_(memories),
      srams_(srams),
      epoch_{job_number, built_ins.cluster_id, built_ins.cluster_id * 256 + built_ins.core_id,
             is_memory_core() ? -1 : built_ins.id},
      epoch_number_(launch.writers().Begin(epoch_)),
      random_(static_cast<unsigned>(GetSettings().seed + static_cast<uint64_t>(built_ins.id))) {}

OnChipMemory* Core::memory(Space space) {
  switch (space) {
    case Space::kNram: return &memories_.nram;
    case Space::kWram: return &memories_.wram;
    case Space::kLdram: return &memories_.ldram;
    case Space::kSram: return srams_[static_cast<size_t>(built_ins_.cluster_id)].get();
    default: return nullptr;
  }
}

Space Core::SpaceOf(const void* pointer) {
  for (const Space space : {Space::kNram, Space::kWram, Space::kLdram, Space::kSram}) {
    if (memory(space)->Contains(pointer)) return space;
  }
  return GetGdram().Find(pointer) != nullptr ? Space::kGdram : Space::kHost;
}

void Core::CheckAborted() const {
  if (launch_.failed()) throw Aborted();
}

void Core::Defer(Queue queue, std::function<void()> work) {
  ++counters_.async_copies;
  queues_[static_cast<int>(queue)].push_back({std::move(work), computing_});
  RunSomeEarly();
}

void Core::RunFront(Queue queue) {
  auto& waiting = queues_[static_cast<int>(queue)];
  const Deferred next = std::move(waiting.front());
  waiting.pop_front();
  counters_.overlapped_copies += next.overlapped;
  next.run();
}

// Strict mode: copies happen at any time between their issue and their synchronisation.
void Core::RunSomeEarly() {
  if (!GetSettings().strict) return;
  for (const Queue queue : {Queue::kIo, Queue::kMove}) {
    if (!is_idle(queue) && random_() % 4 == 0) RunFront(queue);
  }
}

void Core::Synchronize(const SyncSet& producers, const SyncSet& consumers) {
  while (producers.io && !is_idle(Queue::kIo)) RunFront(Queue::kIo);
  while (producers.move && !is_idle(Queue::kMove)) RunFront(Queue::kMove);
  if (producers.compute) computing_ = false;
  const bool waits[] = {producers.io, producers.move, producers.compute};
  const bool blocks[] = {consumers.io, consumers.move, consumers.compute};
  for (int p = 0; p < 3; ++p) {
    for (int c = 0; c < 3; ++c) {
      if (waits[p] && blocks[c]) pending_[p][c] = {};
    }
  }
}

void Core::CountVector(Kind kind, size_t elements) {
  ++counters_.instructions[kind];
  counters_.elements[kind] += elements;
  computing_ = true;
  for (auto& queue : queues_) {
    for (Deferred& deferred : queue) deferred.overlapped = true;
  }
  RunSomeEarly();
}

void Core::CountCopy(mluMemcpyDirection_t direction, size_t bytes) {
  ++counters_.copies;
  counters_.bytes[direction] += bytes;
}

void Core::AddPending(Queue queue, const Range& range, const Issuer& issuer, bool written) {
  for (Pending& pending : pending_[static_cast<int>(queue)])
    (written ? pending.writes : pending.reads).Insert(range, issuer);
}

const Issuer* Core::FindPending(Queue producer, Queue consumer, const Range& range, bool written,
                                bool* is_write) const {
  const Pending& pending = pending_[static_cast<int>(producer)][static_cast<int>(consumer)];
  const Issuer* const writer = pending.writes.Find(range);
  *is_write = writer != nullptr;
  return writer != nullptr || !written ? writer : pending.reads.Find(range);
}

void Core::AddOrigin(const Range& result, Issuer issuer) {
  constexpr size_t kMost = 4096;
  if (origins_.size() < kMost) origins_.emplace_back(result, issuer);
}

const Issuer* Core::FindOrigin(const Range& range) const {
  for (auto it = origins_.rbegin(); it != origins_.rend(); ++it) {
    if (it->first.Overlaps(range)) return &it->second;
  }
  return nullptr;
}

void Core::Repoison() {
  const uint8_t* const state = memories_.nram.StateOf(tainted_.begin);
  for (char* p = const_cast<char*>(tainted_.begin); p < tainted_.end; ++p) {
    if (state[p - tainted_.begin] == 0) *p = static_cast<char>(kPoison);
  }
}

void Core::PassBarrier(bool of_job) {
  ++(of_job ? epoch_.job_barriers : epoch_.cluster_barriers);
  epoch_number_ = launch_.writers().Begin(epoch_);
}

std::string Core::Locate(const Issuer& issuer) const {
  const std::string place = is_memory_core() ? "memory core"
                                             : "task " + std::to_string(built_ins_.id) + ", core " +
                                                   std::to_string(built_ins_.core_id);
  return std::string(issuer.where.file) + ":" + std::to_string(issuer.where.line) + ": " +
         issuer.name + " in kernel " + launch_.site.name + ", " + place + " of cluster " +
         std::to_string(built_ins_.cluster_id) + ": ";
}

void Violate(const char* instruction, Where where, const char* format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  Core* const core = CurrentCore();
  const std::string place =
      core != nullptr
          ? core->Locate({instruction, where})
          : std::string(where.file) + ":" + std::to_string(where.line) + ": " + instruction + " ";
  throw Violation{place + text};
}

void* DeclareOnChip(Space space, const char* name, const void* key, size_t bytes, Where where) {
  char* const address = CoreOf(name, where).memory(space)->Declare(key, name, bytes, where);
  if (address == nullptr)
    Violate(name, where, "the variables of this source exceed %s sixteen times", SpaceName(space));
  return address;
}

const BuiltIns& ReadBuiltIns(const char* name, Where where) {
  const Core& core = CoreOf(name, where);
  const bool is_id = std::strcmp(name, "taskId") == 0 || std::strcmp(name, "taskIdX") == 0;
  if (is_id && core.is_memory_core())
    Violate(name, where, "its value on the memory core is not known");
  return core.built_ins();
}

int Architecture() { return GetSettings().card->number; }

bool IsMemoryCore() { return CurrentCore() != nullptr && CurrentCore()->is_memory_core(); }

Space SpaceOf(const void* pointer) {
  return CurrentCore() == nullptr ? Space::kHost : CurrentCore()->SpaceOf(pointer);
}

void Synchronize(const char* name, SyncSet producers, SyncSet consumers, Where where) {
  Core& core = CoreOf(name, where);
  core.CheckAborted();
  const auto any = [](const SyncSet& set) { return set.io || set.move || set.compute; };
  Require(any(producers) && any(consumers), name, where,
          "at least one producer and one consumer must be true");
  core.Synchronize(producers, consumers);
}

}  // namespace bang
