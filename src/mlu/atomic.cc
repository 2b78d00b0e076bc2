// SPDX-License-Identifier: Apache-2.0
// Atomics on GDRAM.
#include "bang/atomic.h"

#include <array>
#include <cstring>
#include <mutex>

#include "mlu/transfer.h"

namespace bang {

void Atomic(const AtomicCall& call, const End& gdram_end, const End& operands, void* old_data,
            Where where) {
  const Check check(call.name, where);
  Core& core = check.core();
  if (core.is_memory_core()) return;
  check.Exists(call.gate);
  if (gdram_end.size == 0) check.Fail("the count must be positive, got %d", 0);
  if (reinterpret_cast<uintptr_t>(gdram_end.data) % call.width != 0)
    check.Fail("the GDRAM address must be a multiple of %u, got %p", call.width, gdram_end.data);
  if (!call.async) core.Drain();
  OnChipMemory* const nram = core.memory(Space::kNram);
  const bool is_value = operands.size == 0;
  const Side gdram("gdram", gdram_end, nullptr);
  const Side source("src", operands, nram);
  const Side old("old", {old_data, gdram_end.size}, nram);
  gdram.Use(check, Queue::kIo, Access::kAtomic);
  if (!is_value) source.Use(check, Queue::kIo, Access::kRead);
  if (old_data != nullptr) old.Use(check, Queue::kIo, Access::kWrite);
  core.CountVector(kAtomic, gdram.total_bytes() / call.width);
  std::array<char, 8> value = {};  // an element, or the two of compare and swap
  if (is_value) std::memcpy(value.data(), operands.data, call.values * call.width);
  Dispatch(core, Queue::kIo, call.async, [=] {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t k = 0; k < gdram.count(); ++k) {
      if (!is_value) check.Written("src", *nram, source.segment(k), source.segment_bytes());
      for (size_t at = 0; at < gdram.segment_bytes(); at += call.width) {
        std::array<char, 8> operand = value;
        if (!is_value) std::memcpy(operand.data(), source.segment(k) + at, call.width);
        if (old_data != nullptr) {  // nram_old may be the operands
          std::memcpy(old.segment(k) + at, gdram.segment(k) + at, call.width);
          std::memset(nram->StateOf(old.segment(k) + at), 1, call.width);
        }
        call.combine(gdram.segment(k) + at, operand.data());
      }
    }
  });
}

}  // namespace bang
