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
  OnChipMemory& nram = core.nram();
  const bool is_value = operands.size == 0;
  const Side gdram = MakeSide("gdram", Access::kAtomic, &GetGdram(), gdram_end);
  const Side source = MakeSide("src", Access::kRead, &nram, operands);
  const Side old = MakeSide("old", Access::kWrite, &nram, {old_data, gdram_end.size});
  std::vector<Side> sides = {gdram};
  if (!is_value) sides.push_back(source);
  if (old_data != nullptr) sides.push_back(old);
  core.CountVector(kAtomic, gdram.total_bytes() / call.width);
  std::array<char, 8> value = {};  // an element, or the two of compare and swap
  if (is_value) std::memcpy(value.data(), operands.data, call.values * call.width);
  const Timing timing = call.async ? Timing::kAsync : Timing::kSync;
  Transfer(check, kIo, timing, sides, [=, &nram](size_t k) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!is_value) check.Written("src", nram, RangeOf(source.segment(k), source.size));
    for (size_t at = 0; at < gdram.size; at += call.width) {
      std::array<char, 8> operand = value;
      if (!is_value) std::memcpy(operand.data(), source.segment(k) + at, call.width);
      if (old_data != nullptr)  // nram_old may be the operands
        nram.Write(old.segment(k) + at, gdram.segment(k) + at, call.width);
      call.combine(gdram.segment(k) + at, operand.data());
    }
  });
}

}  // namespace bang
