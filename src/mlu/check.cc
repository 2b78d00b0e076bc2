// SPDX-License-Identifier: Apache-2.0
#include "mlu/check.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "mlu/job.h"

namespace bang {
namespace {

// The address and the size of an operand obey the rule of this architecture.
void CheckAlignment(const Check& check, const Side& side) {
  const auto [address_step, size_step, everywhere_address, everywhere_size] = side.rule;
  const size_t behind = reinterpret_cast<uintptr_t>(side.segments[0]) % address_step;
  if (behind != 0 && (Is2xx() || everywhere_address))
    check.Fail("%s must have a 64-byte address%s, got one %zu bytes behind", side.role,
               everywhere_address ? "" : " on 2xx", behind);
  if (side.size % size_step != 0 && (Is2xx() || everywhere_size))
    check.Fail("%s must have a multiple of %u bytes%s, got %zu", side.role, size_step,
               everywhere_size ? "" : " on 2xx", side.size);
}

// No instruction of another queue that is still running touches the range. A queue keeps its own
// order, but a store behind a load that replaces an unread result stores the wrong one.
void CheckOrder(const Check& check, const Side& side, const Range& range, Queue queue) {
  constexpr const char* kQueueNames[] = {"IO", "Move", "Compute"};
  for (const Queue other : kQueues) {
    if (other == queue && side.is_written()) continue;
    const Core::Pending& pending = check.core.pending[other][queue];
    const Issuer* const writer = pending.writes.Find(range);
    const Issuer* const reader = side.is_written() ? pending.reads.Find(range) : nullptr;
    if (writer == nullptr && reader == nullptr) continue;
    const Issuer& issuer = writer != nullptr ? *writer : *reader;
    if (other == queue)
      check.Fail(
          "%s reads memory, where %s of line %d (%s queue) replaces a result that nothing has read",
          side.role, issuer.name, issuer.where.line, kQueueNames[other]);
    check.Fail(
        "%s %s %zu bytes of %s, which %s of line %d (%s queue) still %s: a synchronisation is "
        "missing",
        side.role, side.is_written() ? "overwrites" : "reads", range.size(),
        side.memory->Find(range.begin)->name, issuer.name, issuer.where.line, kQueueNames[other],
        writer != nullptr ? "writes" : "reads");
  }
}

// No other core of the launch accesses the range without a barrier in between.
void CheckExclusive(const Check& check, const Side& side, const Range& range, Queue queue) {
  const Space space = side.memory->space;
  if (space != kSram && space != kGdram) return;
  const auto touch = [=, &core = check.core, &block = *side.memory->Find(range.begin),
                      access = side.access] {
    return core.launch.writers.Touch(block, space == kSram, range, core.epoch_number, access);
  };
  const bool strict = GetSettings().strict;
  if (const Epoch* const other = touch(); other != nullptr)
    check.Fail("%s of %zu bytes in %s is also accessed by %s, without a barrier in between%s",
               side.role, range.size(), kSpaceNames[space], other->Name().c_str(),
               strict ? " (a barrier orders only copies that are synchronized)" : "");
  if (strict) check.core.unfinished[queue].emplace_back(touch);
}

}  // namespace

Check::Check(const char* instruction, Where where, const Gate& gate)
    : core(CoreOf(instruction, where)), issuer{instruction, where} {
  if (core.launch.failed()) throw Violation();
  Exists(gate);
}

void Check::Exists(const Gate& gate, bool is_integer) const {
  const int number = Architecture();
  if (number >= gate.lowest && number != gate.except[0] && number != gate.except[1] &&
      (!is_integer || number >= gate.lowest_for_integers))
    return;
  throw Violation{core.Locate(issuer) + "does not exist on " + GetSettings().card.architecture +
                      " (__BANG_ARCH__ " + std::to_string(number) + ")" +
                      (number >= gate.lowest && is_integer ? " for integers" : ""),
                  MLUOP_STATUS_ARCH_MISMATCH};
}

void RequireArchitecture(const char* instruction, const Gate& gate, Where where) {
  if (current_core != nullptr) Check(instruction, where, gate);
}

void Check::Written(const char* role, const OnChipMemory& memory, const Range& range) const {
  const uint8_t* const state = memory.FindUnwritten(range);
  if (state == nullptr) return;
  if (*state == kUnwritten)
    Fail("%s of %zu bytes has bytes that nothing has written", role, range.size());
  const Issuer origin = core.launch.origin(*state);
  Violate(origin.name, origin.where,
          "read bytes that nothing has written; their result is used by %s of line %d", issuer.name,
          issuer.where.line);
}

void Check::Inside(const Side& side) const {
  const Range range = side.bounds();
  const char* const space = kSpaceNames[side.memory->space];
  const Block* const block = side.memory->Find(range.begin);
  if (block == nullptr)
    Fail("%s must be in a variable or allocation in %s, got %p in %s", side.role, space,
         range.begin, kSpaceNames[core.SpaceOf(range.begin)]);
  const size_t left = block->BytesFrom(range.begin);
  if (range.size() > left)
    Fail("%s of %zu bytes runs %zu bytes past the end of %s, which has %zu bytes of %s", side.role,
         range.size(), range.size() - left, block->name, block->bytes, space);
  OnChipMemory* const memory = side.on_chip();
  if (memory == nullptr) return;
  const size_t used = memory->Touch(*block, range.end);
  if (used > memory->limit)
    Violate(block->name, block->where,
            "the variables in %s that the kernel uses have %zu bytes, and %zu are usable", space,
            used, memory->limit);
}

void Check::Use(const Side& side, Queue queue) const {
  Inside(side);
  CheckAlignment(*this, side);
  const OnChipMemory* const memory = side.on_chip();
  for (const Range& range : side.Ranges()) {
    CheckOrder(*this, side, range, queue);
    CheckExclusive(*this, side, range, queue);
    if (memory == nullptr) continue;  // only the IO queue reaches GDRAM, and keeps its order
    const bool over_unread =
        side.is_written() && queue == kIo && core.unread.Find(range) != nullptr;
    core.unread.Erase(range);
    for (const Queue consumer : kQueues) {
      if (consumer == queue && !over_unread) continue;
      Core::Pending& pending = core.pending[queue][consumer];
      (side.is_written() ? pending.writes : pending.reads).Insert(range, issuer);
    }
    if (side.decides) Written(side.role, *memory, range);
  }
}

Side::Side(const char* name, Access kind, Memory* location, const End& end, Rule its_rule)
    : role(name), access(kind), memory(location), size(end.size), rule(its_rule) {
  char* const data = const_cast<char*>(static_cast<const char*>(end.data));
  for (size_t k = 0; k < end.segments.count(); ++k)
    segments.push_back(data + end.segments.Offset(k));
}

Side::Side(const Operand& operand, Memory* location, Rule its_rule)
    : Side(operand.role, operand.Has(kResult) ? Access::kWrite : Access::kRead, location,
           {operand.data, operand.count * operand.width}, its_rule) {
  decides = operand.Has(kDecides);
  if (operand.Has(kSingle)) rule.size_step = 1;
}

std::vector<Range> Side::Ranges() const {
  std::vector<Range> ranges;
  for (const char* const segment : segments) {
    if (ranges.empty() || segment != ranges.back().end) ranges.push_back({segment, segment});
    ranges.back().end += size;
  }
  return ranges;
}

size_t Side::Fingerprint() const {
  size_t hash = 0;
  for (const Range& range : Ranges())
    hash = 31 * hash + std::hash<std::string_view>()({range.begin, range.size()});
  return hash;
}

void Transfer(const Check& check, Queue queue, Timing timing, const std::vector<Side>& sides,
              const std::function<void(size_t k)>& work) {
  Core& core = check.core;
  if (timing == Timing::kSync) core.Drain();
  if (timing == Timing::kVector) core.Flush(queue);
  // Strict mode: scalar code must not change a source before the copy has happened.
  const bool watches = GetSettings().strict && timing == Timing::kAsync && core.is_idle(queue);
  std::vector<std::pair<Side, size_t>> watched;
  for (const Side& side : sides) {
    check.Use(side, queue);
    if (watches && side.access == Access::kRead && side.on_chip() != nullptr)
      watched.emplace_back(side, side.Fingerprint());
  }
  const auto run = [check, watched, count = sides[0].segments.size(), work] {
    for (const auto& [side, fingerprint] : watched) {
      if (side.Fingerprint() != fingerprint)
        check.Fail("%s was changed before the copy was synchronized", side.role);
    }
    for (size_t k = 0; k < count; ++k) work(k);
  };
  if (timing == Timing::kAsync) return core.Defer(queue, run);
  run();
  if (timing == Timing::kSync) core.Drain();  // forgets its accesses: it is complete
}

Issued Issue(const Instruction& instruction, size_t count, std::initializer_list<Operand> operands,
             Where where) {
  const Check check(instruction.name, where);
  OnChipMemory& nram = check.core.nram();
  if (check.core.is_memory_core()) return {};
  if (count == 0) check.Fail("the count must be positive, got %d", 0);
  const Operand& first = *operands.begin();
  const Range result = RangeOf(first.data, first.count * first.width);
  uint8_t state = kWritten;
  for (const Operand& operand : operands) {
    if (operand.role == nullptr) continue;
    if (operand.count == 0) check.Fail("%s must not be empty", operand.role);
    if (operand.Has(kRepeats) && count % operand.count != 0)
      check.Fail("the count must be a multiple of that of %s, got %zu and %zu", operand.role, count,
                 operand.count);
    check.Exists(instruction.gate, operand.is_integer);
    const Side side(operand, &nram, instruction.rule);
    const Range range = side.bounds();
    const bool is_alias = operand.Has(kAlias) && operand.data == first.data;
    if (first.Has(kResult) && &operand != &first && !is_alias)
      check.Disjoint(operand.role, result, range);
    check.Use(side, kCompute);
    const uint8_t* const unwritten = side.is_written() ? nullptr : nram.FindUnwritten(range);
    if (unwritten == nullptr) continue;
    uint8_t* const states = nram.StateOf(range.begin);
    if (std::memchr(states, kWritten, range.size()) == nullptr)
      check.Written(operand.role, nram, range);  // no byte was written
    state = *unwritten == kUnwritten ? check.core.launch.AddOrigin(check.issuer) : *unwritten;
    // Instructions that rearrange elements move their states, so the bytes name this instruction.
    std::replace(states, states + range.size(), kUnwritten, state);
  }
  check.core.Count(instruction.kind, count);
  // A selection may keep bytes of dst.
  if (first.Has(kResult) && instruction.kind != kSelection)
    check.core.unread.Insert(result, check.issuer);
  return {Is2xx(), state, nram.states()};
}

}  // namespace bang
