// SPDX-License-Identifier: Apache-2.0
#include "mlu/core.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <utility>

#include "mlu/check.h"
#include "mlu/job.h"

namespace bang {
namespace {

constexpr const char* kKindNames[kKinds] = {"arithmetic", "comparison", "logic", "selection",
                                            "layout",     "conversion", "fill",  "atomic"};

template <class Numbers>
void AddEach(Numbers* sums, const Numbers& numbers) {
  std::transform(numbers.begin(), numbers.end(), sums->begin(), sums->begin(), std::plus<>());
}

}  // namespace

thread_local Core* current_core = nullptr;

Core& CoreOf(const char* instruction, Where where) {
  if (current_core == nullptr) Violate(instruction, where, "runs in a kernel only");
  return *current_core;
}

Core::Core(LaunchState& its_launch, Job& its_job, int job_number, size_t its_slot,
           const BuiltIns& values, const Memories& memories)
    : launch(its_launch),
      job(its_job),
      slot(its_slot),
      built_ins(values),
      epoch{job_number, values},
      epoch_number(launch.writers.Begin(epoch)),
      memories_(memories),
      random_(GetSettings().seed + static_cast<unsigned>(values.task_id())) {}

Space Core::SpaceOf(const void* pointer) const {
  for (const OnChipMemory* const memory : memories_) {
    if (memory->Contains(pointer)) return memory->space;
  }
  return GetGdram().Find(pointer) != nullptr ? kGdram : kHost;
}

void Core::Defer(Queue queue, std::function<void()> work) {
  ++counters.async_copies;
  ++(computing_ ? counters.overlapped_copies : alone_[queue]);
  queues_[queue].push_back(std::move(work));
  RunSomeEarly();
}

void Core::Synchronize(const QueueSet& producers, const QueueSet& consumers) {
  for (const Queue producer : kQueues) {
    if (!producers[producer]) continue;
    Flush(producer);
    alone_[producer] = 0;
    unfinished[producer].clear();
    for (const Queue consumer : kQueues) {
      if (consumers[consumer]) pending[producer][consumer] = {};
    }
  }
  if (producers[kCompute]) computing_ = false;
}

void Core::Count(Kind kind, size_t elements, Queue queue) {
  ++counters.instructions[kind];
  counters.elements[kind] += elements;
  if (queue != kCompute) return;
  computing_ = true;
  for (uint64_t& copies : alone_) counters.overlapped_copies += std::exchange(copies, 0);
  RunSomeEarly();
}

std::string Core::Locate(const Issuer& issuer) const {
  const std::string task = is_memory_core() ? "memory core"
                                            : "task " + std::to_string(built_ins.task_id()) +
                                                  ", core " + std::to_string(built_ins.core_id);
  return issuer.where.Text() + issuer.name + " in kernel " + launch.site.name + ", " + task +
         " of cluster " + std::to_string(built_ins.cluster_id) + ": ";
}

void Violate(const char* instruction, Where where, const char* format, ...) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const Core* const core = current_core;
  throw Violation{
      (core != nullptr ? core->Locate({instruction, where}) : where.Text() + instruction + " ") +
      text};
}

void* DeclareOnChip(Space space, const char* name, const void* key, size_t bytes, Where where) {
  char* const address = static_cast<OnChipMemory*>(CoreOf(name, where).memory(space))
                            ->Declare(key, name, bytes, where);
  if (address == nullptr)
    Violate(name, where, "the variables of this source exceed %s sixteen times",
            kSpaceNames[space]);
  return address;
}

const BuiltIns& ReadBuiltIns(const char* name, Where where) {
  const Core& core = CoreOf(name, where);
  const std::string_view variable = name;
  if (core.is_memory_core() && (variable == "taskId" || variable == "taskIdX"))
    Violate(name, where, "its value on the memory core is not known");
  return core.built_ins;
}

int Architecture() { return GetSettings().card.bang_arch; }

bool IsMemoryCore() { return current_core != nullptr && current_core->is_memory_core(); }

Space SpaceOf(const void* pointer) {
  return current_core == nullptr ? kHost : current_core->SpaceOf(pointer);
}

void Synchronize(const char* name, const QueueSet& producers, const QueueSet& consumers,
                 Where where) {
  const Check check(name, where);
  const QueueSet none = {};
  if (producers == none || consumers == none)
    check.Fail("%s", "at least one producer and one consumer must be true");
  check.core.Synchronize(producers, consumers);
  if (std::string_view(name) == "__sync") check.core.unread = {};
}

uint64_t Counters::Work() const {
  return std::accumulate(bytes.begin(), bytes.end(),
                         std::accumulate(elements.begin(), elements.end(), uint64_t{0}));
}

void Counters::Add(const Counters& other) {
  launches += other.launches;
  AddEach(&bytes, other.bytes);
  AddEach(&instructions, other.instructions);
  AddEach(&elements, other.elements);
  copies += other.copies;
  async_copies += other.async_copies;
  overlapped_copies += other.overlapped_copies;
  nram_peak = std::max(nram_peak, other.nram_peak);
  sram_peak = std::max(sram_peak, other.sram_peak);
  work.resize(std::max(work.size(), other.work.size()));
  AddEach(&work, other.work);
}

std::string Counters::Format() const {
  std::ostringstream text;
  // Adds a line if `value` is not 0.
  const auto add_line = [&text](uint64_t value, const auto&... parts) {
    if (value > 0) (text << ... << parts) << '\n';
  };
  text << "launches " << launches << '\n';
  for (size_t i = 0; i < bytes.size(); ++i)
    add_line(bytes[i], "bytes ", kDirectionNames[i], ' ', bytes[i]);
  for (size_t i = 0; i < kKinds; ++i)
    add_line(instructions[i], kKindNames[i], " instructions ", instructions[i], ", elements ",
             elements[i]);
  add_line(nram_peak, "NRAM peak ", nram_peak, " bytes");
  add_line(sram_peak, "SRAM peak ", sram_peak, " bytes");
  text << "copies " << copies << ", asynchronous " << async_copies
       << ", overlapped with computation " << overlapped_copies << '\n'
       << std::fixed << std::setprecision(3);
  const uint64_t most = work.empty() ? 0 : *std::max_element(work.begin(), work.end());
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  add_line(most, "balance ", all / static_cast<double>(work.size() * most), " (mean work of ",
           work.size(), " cores / largest)");
  return text.str();
}

}  // namespace bang
