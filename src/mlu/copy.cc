// SPDX-License-Identifier: Apache-2.0
// Copies, fills, gathers and atomics.
#include "bang/copy.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "bang/atomic.h"
#include "mlu/core.h"
#include "mlu/gdram.h"
#include "mlu/settings.h"

namespace bang {
namespace {

struct Ends {
  Space from, to;
};

constexpr Ends kEnds[kDirections] = {
    {Space::kGdram, Space::kNram},  {Space::kNram, Space::kGdram},  {Space::kLdram, Space::kNram},
    {Space::kNram, Space::kLdram},  {Space::kGdram, Space::kWram},  {Space::kWram, Space::kGdram},
    {Space::kLdram, Space::kWram},  {Space::kWram, Space::kLdram},  {Space::kNram, Space::kNram},
    {Space::kNram, Space::kWram},   {Space::kWram, Space::kNram},   {Space::kGdram, Space::kSram},
    {Space::kSram, Space::kGdram},  {Space::kLdram, Space::kSram},  {Space::kSram, Space::kLdram},
    {Space::kSram, Space::kNram},   {Space::kNram, Space::kSram},   {Space::kSram, Space::kWram},
    {Space::kWram, Space::kSram},   {Space::kGdram, Space::kGdram}, {Space::kGdram, Space::kLdram},
    {Space::kLdram, Space::kGdram}, {Space::kLdram, Space::kLdram}, {Space::kSram, Space::kSram}};

bool IsOffChip(Space space) { return space == Space::kGdram || space == Space::kLdram; }

// The memory core executes copies between SRAM and off-chip memory or SRAM.
bool IsMemoryCoreCopy(const Ends& ends) {
  return (ends.from == Space::kSram && (IsOffChip(ends.to) || ends.to == Space::kSram)) ||
         (ends.to == Space::kSram && IsOffChip(ends.from));
}

Queue QueueOf(const Ends& ends, Form form) {
  if (IsOffChip(ends.from) || IsOffChip(ends.to)) return Queue::kIo;
  const bool is_1d_nram = ends.from == Space::kNram && ends.to == Space::kNram && form == Form::k1D;
  return is_1d_nram ? Queue::kCompute : Queue::kMove;
}

// Copies the state of bytes; off-chip memory counts as written.
void CopyState(Core& core, Space to_space, char* to, Space from_space, const char* from,
               size_t bytes) {
  OnChipMemory* const target = core.memory(to_space);
  if (target == nullptr) return;
  OnChipMemory* const source = core.memory(from_space);
  if (source == nullptr) {
    std::memset(target->StateOf(to), 1, bytes);
  } else {
    std::memmove(target->StateOf(to), source->StateOf(from), bytes);
  }
}

void Execute(Core& core, const CopyCall& call, const Ends& ends) {
  for (size_t k = 0; k < call.to.count(); ++k) {
    char* const to = static_cast<char*>(call.dst) + call.to.Offset(k);
    const char* const from = static_cast<const char*>(call.src) + call.from.Offset(k);
    std::memmove(to, from, call.size);
    CopyState(core, ends.to, to, ends.from, from, call.size);
  }
}

void Dispatch(Core& core, Queue queue, bool async, std::function<void()> work) {
  if (queue == Queue::kCompute) {
    work();
  } else if (async) {
    core.Defer(queue, std::move(work));
  } else {
    core.RunNow(work);
  }
}

std::mutex& AtomicMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void Copy(const CopyCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  const Ends ends = kEnds[call.direction];
  if (IsMemoryCoreCopy(ends) != core.is_memory_core()) return;
  ++core.counters().copies;
  core.counters().bytes[call.direction] += call.size * call.to.count();
  const Queue queue = QueueOf(ends, call.form);
  Dispatch(core, queue, call.async, [&core, call, ends] { Execute(core, call, ends); });
}

void Gather(const GatherCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  if (core.is_memory_core()) return;
  const Ends ends = kEnds[call.direction];
  std::vector<uint32_t> offsets(call.count);
  for (unsigned k = 0; k < call.count; ++k) {
    std::memcpy(&offsets[k], static_cast<const char*>(call.offsets) + k * call.offset_width,
                call.offset_width);
  }
  Dispatch(core, QueueOf(ends, Form::k2D), call.async, [&core, call, ends, offsets] {
    for (unsigned k = 0; k < call.count; ++k) {
      if (call.mask != nullptr && (static_cast<const uint8_t*>(call.mask)[k / 8] >> k % 8 & 1) == 0)
        continue;
      const int64_t step = int64_t{k} * call.stride;
      const int64_t indexed = offsets[k];
      char* const to = static_cast<char*>(call.dst) + (call.scatter ? indexed : step);
      const char* const from =
          static_cast<const char*>(call.src) + (call.scatter ? step : indexed);
      std::memcpy(to, from, call.size);
      CopyState(core, ends.to, to, ends.from, from, call.size);
      core.counters().bytes[call.direction] += call.size;
    }
  });
}

void Fill(const FillCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  if (core.is_memory_core() != (call.space == Space::kSram)) return;
  core.CountVector(Kind::kFill, call.count * call.to.count());
  std::vector<char> pattern(call.width);
  std::memcpy(pattern.data(), call.value, call.width);
  Dispatch(core, call.queue, call.async, [&core, call, pattern] {
    for (size_t k = 0; k < call.to.count(); ++k) {
      char* const to = static_cast<char*>(call.dst) + call.to.Offset(k);
      for (size_t i = 0; i < call.count; ++i)
        std::memcpy(to + i * call.width, pattern.data(), call.width);
      CopyState(core, call.space, to, Space::kHost, nullptr, call.count * call.width);
    }
  });
}

void Atomic(const AtomicCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  if (core.is_memory_core()) return;
  core.CountVector(Kind::kAtomic, call.count);
  std::vector<char> value(call.width);
  if (call.is_value) std::memcpy(value.data(), call.operands, call.width);
  Dispatch(core, Queue::kIo, call.async, [&core, call, value] {
    const std::lock_guard<std::mutex> lock(AtomicMutex());
    for (unsigned i = 0; i < call.count; ++i) {
      const size_t at = size_t{i} * call.width;
      char* const memory = static_cast<char*>(call.gdram) + at;
      std::vector<char> operand = value;
      if (!call.is_value)
        std::memcpy(operand.data(), static_cast<const char*>(call.operands) + at, call.width);
      if (call.old != nullptr) {
        std::memcpy(static_cast<char*>(call.old) + at, memory, call.width);
        CopyState(core, Space::kNram, static_cast<char*>(call.old) + at, Space::kHost, nullptr,
                  call.width);
      }
      call.combine(memory, operand.data());
    }
  });
}

}  // namespace bang
