// SPDX-License-Identifier: Apache-2.0
#include "mlu/core.h"

#include <cstdarg>
#include <cstdio>

#include "bang/language.h"
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
    : nram(Space::kNram, GetSettings().architecture->nram_bytes),
      wram(Space::kWram, GetSettings().architecture->wram_bytes),
      ldram(Space::kLdram, kLdramBytes) {}

Core::Core(LaunchState& launch, Job& job, int job_number, const Place& place,
           CoreMemories& memories, OnChipMemory& sram)
    : launch_(launch), job_(job), place_(place), memories_(memories), sram_(sram) {
  random_.seed(static_cast<unsigned>(GetSettings().seed + static_cast<uint64_t>(task())));
  const int core =
      place.cluster * (kCoresPerCluster + 1) + (is_memory_core() ? kCoresPerCluster : place.core);
  epoch_ = {job_number, place.cluster, core, is_memory_core() ? -1 : task()};
  epoch_number_ = launch.writers().Begin(epoch_);
}

int Core::task() const {
  return static_cast<int>(
             (static_cast<unsigned>(place_.z) * launch_.dim.y + static_cast<unsigned>(place_.y)) *
             launch_.dim.x) +
         place_.x;
}

bool Core::is_block() const { return launch_.type == cnrtFuncTypeBlock; }

OnChipMemory* Core::memory(Space space) {
  switch (space) {
    case Space::kNram: return &memories_.nram;
    case Space::kWram: return &memories_.wram;
    case Space::kLdram: return &memories_.ldram;
    case Space::kSram: return &sram_;
    default: return nullptr;
  }
}

Space Core::SpaceOf(const void* pointer) const {
  for (const OnChipMemory* memory : {&memories_.nram, &memories_.wram, &memories_.ldram}) {
    if (memory->Contains(pointer)) return memory->space();
  }
  if (sram_.Contains(pointer)) return Space::kSram;
  return GetGdram().Find(pointer) != nullptr ? Space::kGdram : Space::kHost;
}

void Core::CheckAborted() const {
  if (launch_.failed()) throw Aborted();
}

void Core::Defer(Queue queue, std::function<void()> work) {
  ++counters_.async_copies;
  queues_[static_cast<int>(queue)].push_back({std::move(work)});
  RunSomeEarly();
}

void Core::RunFront(Queue queue) {
  auto& waiting = queues_[static_cast<int>(queue)];
  const Deferred next = std::move(waiting.front());
  waiting.pop_front();
  counters_.overlapped_copies += next.overlapped;
  next.run();
}

void Core::RunQueue(Queue queue) {
  while (!is_idle(queue)) RunFront(queue);
}

// Strict mode: copies happen at any time between their issue and their synchronisation.
void Core::RunSomeEarly() {
  if (!GetSettings().strict) return;
  for (const Queue queue : {Queue::kIo, Queue::kMove}) {
    if (!is_idle(queue) && random_() % 4 == 0) RunFront(queue);
  }
}

void Core::Synchronize(const SyncSet& producers, const SyncSet& consumers) {
  if (producers.io) RunQueue(Queue::kIo);
  if (producers.move) RunQueue(Queue::kMove);
  const bool waits[] = {producers.io, producers.move, producers.compute};
  const bool blocks[] = {consumers.io, consumers.move, consumers.compute};
  for (int p = 0; p < 3; ++p) {
    for (int c = 0; c < 3; ++c) {
      if (!waits[p] || !blocks[c]) continue;
      pending_[p][c].reads.Clear();
      pending_[p][c].writes.Clear();
    }
  }
}

void Core::CountVector(Kind kind, size_t elements) {
  ++counters_.instructions[static_cast<int>(kind)];
  counters_.elements[static_cast<int>(kind)] += elements;
  for (auto& queue : queues_) {
    for (Deferred& deferred : queue) deferred.overlapped = true;
  }
  RunSomeEarly();
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

void Core::AddOrigin(const Range& result, const Issuer& issuer) {
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

std::string Core::Locate(const char* instruction, Where where) const {
  char text[300];
  char place[48];
  if (is_memory_core()) {
    snprintf(place, sizeof(place), "memory core of cluster %d", place_.cluster);
  } else {
    snprintf(place, sizeof(place), "task %d, core %d of cluster %d", task(), place_.core,
             place_.cluster);
  }
  snprintf(text, sizeof(text), "%s:%d: %s in kernel %s, %s: ", where.file, where.line, instruction,
           launch_.site.name, place);
  return text;
}

void Violate(const char* instruction, Where where, const char* format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  Core* const core = CurrentCore();
  std::string message = core != nullptr ? core->Locate(instruction, where)
                                        : std::string(where.file) + ":" +
                                              std::to_string(where.line) + ": " + instruction + " ";
  throw Violation{message + text, false};
}

void* DeclareOnChip(Space space, const char* name, const void* key, size_t bytes, Where where) {
  char* const address = CoreOf(name, where).memory(space)->Declare(key, name, bytes, where);
  if (address == nullptr)
    Violate(name, where, "the variables of this source exceed %s sixteen times", SpaceName(space));
  return address;
}

int ReadBuiltIn(BuiltIn variable, Where where) {
  const Core& core = CoreOf("a built-in variable", where);
  const Place& place = core.place();
  const cnrtDim3_t dim = const_cast<Core&>(core).launch().dim;
  if (core.is_memory_core() && (variable == BuiltIn::kTaskId || variable == BuiltIn::kTaskIdX))
    Violate(variable == BuiltIn::kTaskId ? "taskId" : "taskIdX", where,
            "its value on the memory core is not known");
  switch (variable) {
    case BuiltIn::kTaskDim: return static_cast<int>(dim.x * dim.y * dim.z);
    case BuiltIn::kTaskDimX: return static_cast<int>(dim.x);
    case BuiltIn::kTaskDimY: return static_cast<int>(dim.y);
    case BuiltIn::kTaskDimZ: return static_cast<int>(dim.z);
    case BuiltIn::kTaskId: return core.task();
    case BuiltIn::kTaskIdX: return place.x;
    case BuiltIn::kTaskIdY: return place.y;
    case BuiltIn::kTaskIdZ: return place.z;
    case BuiltIn::kCoreDim: return kCoresPerCluster;
    case BuiltIn::kCoreId: return place.core;
    case BuiltIn::kClusterDim: return const_cast<Core&>(core).launch().clusters_per_job();
    case BuiltIn::kClusterId: return place.cluster;
  }
  return 0;
}

int Architecture() { return GetSettings().architecture->number; }

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
