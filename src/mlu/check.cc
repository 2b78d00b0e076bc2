// SPDX-License-Identifier: Apache-2.0
#include "mlu/check.h"

#include <cstring>

#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {

Check::Check(const char* instruction, Where where)
    : core_(CoreOf(instruction, where)), issuer_{instruction, where} {
  core_.CheckAborted();
}

void Check::Exists(const Gate& gate, bool is_integer) const {
  const int number = Architecture();
  const bool exists = number >= gate.lowest && number != gate.except[0] &&
                      number != gate.except[1] &&
                      (!is_integer || number >= gate.lowest_for_integers);
  if (exists) return;
  throw Violation{core_.Locate(issuer_) + "does not exist on " + GetSettings().card->name +
                      " (__BANG_ARCH__ " + std::to_string(number) + ")" +
                      (number >= gate.lowest && is_integer ? " for integers" : ""),
                  true};
}

void RequireArchitecture(const char* instruction, const Gate& gate, Where where) {
  if (CurrentCore() != nullptr) Check(instruction, where).Exists(gate);
}

void Check::Inside(const char* role, const Range& range, Memory& memory) const {
  const char* const space = SpaceName(memory.space());
  const Block* const block = memory.Find(range.begin);
  if (block == nullptr)
    Fail("%s must be in a variable or allocation in %s, got %p in %s", role, space,
         static_cast<const void*>(range.begin), SpaceName(core_.SpaceOf(range.begin)));
  const size_t left = block->BytesFrom(range.begin);
  if (range.size() > left)
    Fail("%s of %zu bytes runs %zu bytes past the end of %s, which has %zu bytes of %s", role,
         range.size(), range.size() - left, block->name, block->bytes, space);
  if (memory.space() == kGdram) return;
  auto& on_chip = static_cast<OnChipMemory&>(memory);
  const size_t used = on_chip.Touch(*block, range.end);
  if (used > on_chip.limit())
    Violate(block->name, block->where,
            "the variables in %s that the kernel uses have %zu bytes, and %zu are usable", space,
            used, on_chip.limit());
}

void Check::Alignment(const char* role, const void* data, size_t bytes, Rule rule) const {
  const bool everywhere = rule == kSize128 || rule == kAll128;
  if (rule == kNoRule || (!Is2xx() && !everywhere)) return;
  const size_t behind = reinterpret_cast<uintptr_t>(data) % 64;
  if (behind != 0 && (Is2xx() || rule == kAll128))
    Fail("%s must have a 64-byte address%s, got one %zu bytes behind", role,
         rule == kAll128 ? "" : " on 2xx", behind);
  const size_t step = rule == k2xx64 ? 64 : 128;
  if (bytes % step != 0)
    Fail("%s must have a multiple of %zu bytes%s, got %zu", role, step, everywhere ? "" : " on 2xx",
         bytes);
}

void Check::Disjoint(const char* role, const Range& result, const Range& source) const {
  if (result.Overlaps(source))
    Fail("dst and %s must not overlap, got [%p, %p) and [%p, %p)", role,
         static_cast<const void*>(result.begin), static_cast<const void*>(result.end),
         static_cast<const void*>(source.begin), static_cast<const void*>(source.end));
}

void Check::Ordered(const char* role, const Range& range, Queue queue, bool written) const {
  constexpr const char* kQueueNames[] = {"IO", "Move", "Compute"};
  for (const Queue other : kQueues) {
    if (other == queue) continue;
    const Core::Pending& pending = core_.pending(other, queue);
    const Issuer* const writer = pending.writes.Find(range);
    const Issuer* const reader = written ? pending.reads.Find(range) : nullptr;
    if (writer == nullptr && reader == nullptr) continue;
    const Issuer& issuer = writer != nullptr ? *writer : *reader;
    Fail("%s %s memory, which %s of line %d (%s queue) still %s: a synchronisation is missing",
         role, written ? "overwrites" : "reads", issuer.name, issuer.where.line, kQueueNames[other],
         writer != nullptr ? "writes" : "reads");
  }
}

void Check::Exclusive(const char* role, const Range& range, const Memory& memory,
                      Access access) const {
  const bool is_sram = memory.space() == kSram;
  if (!is_sram && memory.space() != kGdram) return;
  const Epoch* const other = core_.launch().writers().Touch(*memory.Find(range.begin), is_sram,
                                                            range, core_.epoch(), access);
  if (other != nullptr)
    Fail("%s of %zu bytes in %s is also accessed by %s, without a barrier in between", role,
         range.size(), SpaceName(memory.space()), other->Name().c_str());
}

void Check::Written(const char* role, const OnChipMemory& memory, const Range& range) const {
  const uint8_t* const state = memory.FindUnwritten(range);
  if (state == nullptr) return;
  if (*state == kUnwritten)
    Fail("%s of %zu bytes has bytes that nothing has written", role, range.size());
  const Issuer origin = core_.launch().origin(*state);
  Violate(origin.name, origin.where,
          "read bytes that nothing has written; their result is used by %s of line %d",
          issuer_.name, issuer_.where.line);
}

uint8_t Check::Depend(uint8_t state) const {
  return state == kUnwritten ? core_.launch().AddOrigin(issuer_) : state;
}

Issued Issue(const Instruction& instruction, size_t count, std::initializer_list<Operand> operands,
             Where where) {
  const Check check(instruction.name, where);
  Core& core = check.core();
  OnChipMemory& nram = core.nram();
  if (core.is_memory_core()) return {};
  if (count == 0) check.Fail("the count must be positive, got %d", 0);
  const auto range_of = [](const Operand& operand) {
    return RangeOf(operand.data, operand.count * operand.width);
  };
  const Operand& result = *operands.begin();
  for (const Operand& operand : operands) {
    if (operand.role == nullptr) continue;
    const Range range = range_of(operand);
    if (operand.count == 0) check.Fail("%s must not be empty", operand.role);
    if (operand.repeats && count % operand.count != 0)
      check.Fail("the count must be a multiple of that of %s, got %zu and %zu", operand.role, count,
                 operand.count);
    check.Exists(instruction.gate, operand.is_integer);
    check.Inside(operand.role, range, nram);
    check.Alignment(operand.role, operand.data, range.size(), instruction.rule);
    check.Ordered(operand.role, range, kCompute, operand.is_result);
    const bool may_overlap = &operand == &result || !result.is_result ||
                             (operand.may_alias && operand.data == result.data);
    if (!may_overlap) check.Disjoint(operand.role, range_of(result), range);
  }
  core.CountVector(instruction.kind, count);
  uint8_t state = kWritten;
  for (const Operand& operand : operands) {
    if (operand.role == nullptr) continue;
    const Range range = range_of(operand);
    core.AddPending(kCompute, range, check.issuer(), operand.is_result);
    const uint8_t* const unwritten = operand.is_result ? nullptr : nram.FindUnwritten(range);
    if (unwritten == nullptr) continue;
    const bool is_all = std::memchr(nram.StateOf(range.begin), kWritten, range.size()) == nullptr;
    if (is_all || operand.decides) check.Written(operand.role, nram, range);
    state = check.Depend(*unwritten);
  }
  return {true, Is2xx(), state, nram.states()};
}

}  // namespace bang
