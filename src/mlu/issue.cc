// SPDX-License-Identifier: Apache-2.0
// Issues vector instructions: checks, order, counters, and bytes that were never written.
#include <cstring>

#include "bang/layout.h"
#include "mlu/check.h"
#include "mlu/settings.h"

namespace bang {
namespace {

size_t BytesOf(const Operand& operand) { return operand.count * operand.width; }

void CheckOperands(const Check& check, const Instruction& instruction, Flow flow, size_t count,
                   std::initializer_list<Operand> operands) {
  if (count == 0) check.Fail("the count must be positive, got %d", 0);
  for (const Operand& operand : operands) {
    if (operand.count == 0) check.Fail("%s must not be empty", operand.role);
    if (flow == Flow::kElements && count % operand.count != 0)
      check.Fail("the count must be a multiple of that of %s, got %zu and %zu", operand.role, count,
                 operand.count);
    check.Inside(operand.role, operand.data, BytesOf(operand), Space::kNram);
    check.Alignment(operand.role, operand.data, BytesOf(operand), instruction.rule);
  }
  const Operand& result = *operands.begin();
  if (!result.written) return;
  const Range written = RangeOf(result.data, BytesOf(result));
  for (const Operand& operand : operands) {
    if (&operand == &result || operand.alias == Alias::kAnywhere) continue;
    const bool is_same = operand.data == result.data && operand.alias == Alias::kSameAddress;
    if (!is_same) check.Disjoint(operand.role, written, RangeOf(operand.data, BytesOf(operand)));
  }
}

// Returns whether all bytes of element i were written; a shorter operand repeats.
bool ElementIsWritten(const OnChipMemory& nram, const Operand& operand, size_t i) {
  const char* const element =
      static_cast<const char*>(operand.data) + i % operand.count * operand.width;
  return std::memchr(nram.StateOf(element), 0, operand.width) == nullptr;
}

// Sets the state of the result. Returns whether it depends on bytes that nothing has written.
bool Propagate(Core& core, const Check& check, Flow flow, std::initializer_list<Operand> operands) {
  OnChipMemory& nram = *core.memory(Space::kNram);
  bool tainted = false;
  for (const Operand& operand : operands) {
    if (operand.written || Check::IsWritten(nram, operand.data, BytesOf(operand))) continue;
    const uint8_t* const state = nram.StateOf(operand.data);
    if (flow == Flow::kScalar || std::memchr(state, 1, BytesOf(operand)) == nullptr)
      check.Written(operand.role, nram, operand.data, BytesOf(operand));
    tainted = true;
  }
  const Operand& result = *operands.begin();
  if (!result.written) return false;
  const size_t bytes = BytesOf(result);
  if (flow == Flow::kCustom) {
    if (tainted) Check::IsWritten(nram, result.data, bytes);
    return tainted;
  }
  uint8_t* const state = nram.StateOf(result.data);
  if (!tainted) {
    std::memset(state, 1, bytes);
  } else if (flow == Flow::kAll) {
    std::memset(state, 0, bytes);
  } else {
    for (size_t i = 0; i < result.count; ++i) {
      bool written = true;
      for (const Operand& operand : operands)
        written &= operand.written || ElementIsWritten(nram, operand, i);
      std::memset(state + i * result.width, written, result.width);
    }
  }
  return tainted;
}

}  // namespace

Issued Issue(const Instruction& instruction, Flow flow, size_t count,
             std::initializer_list<Operand> operands, Where where) {
  Core& core = CoreOf(instruction.name, where);
  core.CheckAborted();
  if (core.is_memory_core()) return {false, false};
  const Check check(core, instruction.name, where);
  check.Exists(instruction.gate);
  CheckOperands(check, instruction, flow, count, operands);
  for (const Operand& operand : operands) {
    check.Ordered(operand.role, RangeOf(operand.data, BytesOf(operand)), Queue::kCompute,
                  operand.written);
  }
  const Issuer issuer = {instruction.name, where};
  for (const Operand& operand : operands)
    core.AddPending(Queue::kCompute, RangeOf(operand.data, BytesOf(operand)), issuer,
                    operand.written);
  core.CountVector(instruction.kind, count);
  const bool tainted = Propagate(core, check, flow, operands);
  if (tainted) {
    const Range result = RangeOf(operands.begin()->data, BytesOf(*operands.begin()));
    const Issuer* first = nullptr;
    for (const Operand& operand : operands) {
      if (!operand.written && first == nullptr)
        first = core.FindOrigin(RangeOf(operand.data, BytesOf(operand)));
    }
    core.AddOrigin(result, first == nullptr ? issuer : Issuer(*first));
    core.SetTainted(result);
  }
  return {true, tainted};
}

void Repoison() { CurrentCore()->Repoison(); }

uint8_t* StateOf(const void* data) { return CurrentCore()->memory(Space::kNram)->StateOf(data); }

void RequireWritten(const char* name, const char* role, const void* data, size_t bytes,
                    Where where) {
  Core& core = *CurrentCore();
  Check(core, name, where).Written(role, *core.memory(Space::kNram), data, bytes);
}

}  // namespace bang
