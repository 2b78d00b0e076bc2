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

constexpr size_t kLdramBytes = 16 << 20;  // per core; the size of a card's LDRAM is not known

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

Core::Core(LaunchState& launch, Job& job, const Place& place, CoreMemories& memories,
           OnChipMemory* sram)
    : launch_(launch), job_(job), place_(place), memories_(memories), sram_(sram) {
  random_.seed(static_cast<unsigned>(GetSettings().seed + static_cast<uint64_t>(task())));
}

int Core::task() const {
  return static_cast<int>((static_cast<unsigned>(place_.z) * launch_.dim.y +
                           static_cast<unsigned>(place_.y)) * launch_.dim.x) + place_.x;
}

OnChipMemory* Core::memory(Space space) {
  switch (space) {
    case Space::kNram: return &memories_.nram;
    case Space::kWram: return &memories_.wram;
    case Space::kLdram: return &memories_.ldram;
    case Space::kSram: return sram_;
    default: return nullptr;
  }
}

Space Core::SpaceOf(const void* pointer) const {
  for (const OnChipMemory* memory : {&memories_.nram, &memories_.wram, &memories_.ldram}) {
    if (memory->Contains(pointer)) return memory->space();
  }
  if (sram_ != nullptr && sram_->Contains(pointer)) return Space::kSram;
  return GetGdram().Find(pointer) != nullptr ? Space::kGdram : Space::kHost;
}

void Core::CheckAborted() const {
  if (launch_.failed()) throw Aborted();
}

void Core::RunNow(const std::function<void()>& work) {
  Drain();
  work();
}

void Core::Defer(Queue queue, std::function<void()> work) {
  ++counters_.async_copies;
  queues_[static_cast<int>(queue)].push_back({std::move(work)});
}

void Core::RunQueue(Queue queue) {
  auto& waiting = queues_[static_cast<int>(queue)];
  while (!waiting.empty()) {
    const Deferred next = std::move(waiting.front());
    waiting.pop_front();
    counters_.overlapped_copies += next.overlapped;
    next.run();
  }
}

void Core::Synchronize(const SyncSet& producers, const SyncSet&) {
  if (producers.io) RunQueue(Queue::kIo);
  if (producers.move) RunQueue(Queue::kMove);
}

void Core::CountVector(Kind kind, size_t elements) {
  ++counters_.instructions[static_cast<int>(kind)];
  counters_.elements[static_cast<int>(kind)] += elements;
  for (auto& queue : queues_) {
    for (Deferred& deferred : queue) deferred.overlapped = true;
  }
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
  std::string message = core != nullptr
                            ? core->Locate(instruction, where)
                            : std::string(where.file) + ":" + std::to_string(where.line) + ": " +
                                  instruction + " ";
  throw Violation{message + text, false};
}

bool Issue(const Instruction& instruction, Flow, size_t count, std::initializer_list<Operand>,
           Where where) {
  Core& core = CoreOf(instruction.name, where);
  core.CheckAborted();
  if (core.is_memory_core()) return false;
  core.CountVector(instruction.kind, count);
  return true;
}

uint8_t* StateOf(const void* data) {
  OnChipMemory* const nram = CurrentCore()->memory(Space::kNram);
  return nram->StateOf(data);
}

void RequireWritten(const char*, const char*, const void*, size_t, Where) {}

void* DeclareOnChip(Space space, const char* name, const void* key, size_t bytes, Where where) {
  Core& core = CoreOf(name, where);
  OnChipMemory* const memory = core.memory(space);
  if (memory == nullptr)
    Violate(name, where, "a Block task has no %s", SpaceName(space));
  size_t used = 0;
  char* const address = memory->Declare(key, name, bytes, &used);
  if (address == nullptr)
    Violate(name, where, "the variables in %s have %zu bytes, and %zu are usable",
            SpaceName(space), used, memory->limit());
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
