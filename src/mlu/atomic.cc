// SPDX-License-Identifier: Apache-2.0
// Atomics on GDRAM.
#include "bang/atomic.h"

#include <cstring>
#include <mutex>

#include "mlu/transfer.h"

namespace bang {
namespace {

std::mutex& AtomicMutex() {
  static std::mutex mutex;
  return mutex;
}

// The operands of an atomic, as bytes.
struct Work {
  char* gdram;
  const char* operands;  // NULL: `value` for all
  char* old;             // NULL: not wanted
  std::vector<char> value;
  AtomicCall call;
};

void Execute(Core& core, const Check& check, const Work& work) {
  const size_t width = work.call.width;
  OnChipMemory& nram = *core.memory(Space::kNram);
  if (work.operands != nullptr) check.Written("src", nram, work.operands, work.call.count * width);
  const std::lock_guard<std::mutex> lock(AtomicMutex());
  for (size_t at = 0; at < work.call.count * width; at += width) {
    char operand[8];
    std::memcpy(operand, work.operands != nullptr ? work.operands + at : work.value.data(), width);
    if (work.old != nullptr) {
      std::memcpy(work.old + at, work.gdram + at, width);
      std::memset(nram.StateOf(work.old + at), 1, width);
    }
    work.call.combine(work.gdram + at, operand);
  }
}

}  // namespace

void Atomic(const AtomicCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  if (core.is_memory_core()) return;
  const Check check(core, call.name, where);
  check.Exists(call.gate);
  if (call.count == 0) check.Fail("the count must be positive, got %d", 0);
  const size_t bytes = size_t{call.count} * call.width;
  if (reinterpret_cast<uintptr_t>(call.gdram) % call.width != 0)
    check.Fail("the GDRAM address must be a multiple of %u, got %p", call.width, call.gdram);
  if (!call.async) core.Drain();
  const Issuer issuer = {call.name, where};
  const auto access = [&](const char* role, const void* data, Space space, Access kind) {
    Side side(role, data, space, bytes);
    side.Add(Segments());
    side.CheckAccess(check, Queue::kIo, kind);
    side.AddPending(core, Queue::kIo, issuer, kind != Access::kRead);
  };
  access("gdram", call.gdram, Space::kGdram, Access::kAtomic);
  if (!call.is_value) access("src", call.operands, Space::kNram, Access::kRead);
  if (call.old != nullptr) access("old", call.old, Space::kNram, Access::kWrite);
  core.CountVector(Kind::kAtomic, call.count);
  core.counters().atomics += call.count;
  Work work = {static_cast<char*>(call.gdram),
               call.is_value ? nullptr : static_cast<const char*>(call.operands),
               static_cast<char*>(call.old),
               {},
               call};
  if (call.is_value)
    work.value.assign(static_cast<const char*>(call.operands),
                      static_cast<const char*>(call.operands) + call.width);
  Dispatch(core, Queue::kIo, call.async, [&core, check, work] { Execute(core, check, work); });
}

}  // namespace bang
