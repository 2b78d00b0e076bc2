// SPDX-License-Identifier: Apache-2.0
// Issues vector instructions: checks, order, counters, and bytes that were never written.
#include <cstring>
#include <span>
#include <vector>

#include "bang/instruction.h"
#include "mlu/check.h"

namespace bang {
namespace {

size_t BytesOf(const Operand& operand) { return operand.count * operand.width; }
Range RangeOf(const Operand& operand) { return bang::RangeOf(operand.data, BytesOf(operand)); }

void CheckOperands(const Check& check, const Instruction& instruction, Flow flow, size_t count,
                   std::span<const Operand> operands) {
  if (count == 0) check.Fail("the count must be positive, got %d", 0);
  OnChipMemory* const nram = check.core().memory(Space::kNram);
  for (const Operand& operand : operands) {
    if (operand.count == 0) check.Fail("%s must not be empty", operand.role);
    if (flow == Flow::kElements && count % operand.count != 0)
      check.Fail("the count must be a multiple of that of %s, got %zu and %zu", operand.role, count,
                 operand.count);
    check.Exists(instruction.gate, operand.is_integer);
    check.Inside(operand.role, operand.data, BytesOf(operand), nram);
    check.Alignment(operand.role, operand.data, BytesOf(operand), instruction.rule);
  }
  const Operand& result = operands[0];
  if (!result.written) return;
  for (const Operand& operand : operands) {
    if (&operand == &result || operand.alias == Alias::kAnywhere) continue;
    const bool is_same = operand.data == result.data && operand.alias == Alias::kSameAddress;
    if (!is_same) check.Disjoint(operand.role, RangeOf(result), RangeOf(operand));
  }
}

// Returns whether all bytes of element i were written; a shorter operand repeats.
bool ElementIsWritten(const OnChipMemory& nram, const Operand& operand, size_t i) {
  const char* const element =
      static_cast<const char*>(operand.data) + i % operand.count * operand.width;
  return std::memchr(nram.StateOf(element), 0, operand.width) == nullptr;
}

// Sets the state of the result. Returns whether it depends on bytes that nothing has written.
bool Propagate(const Check& check, Flow flow, std::span<const Operand> operands) {
  OnChipMemory& nram = *check.core().memory(Space::kNram);
  bool tainted = false;
  for (const Operand& operand : operands) {
    if (operand.written || Check::IsWritten(nram, operand.data, BytesOf(operand))) continue;
    const uint8_t* const state = nram.StateOf(operand.data);
    if (flow == Flow::kScalar || std::memchr(state, 1, BytesOf(operand)) == nullptr)
      check.Written(operand.role, nram, operand.data, BytesOf(operand));
    tainted = true;
  }
  const Operand& result = operands[0];
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
             std::initializer_list<Operand> all_operands, Where where) {
  const Check check(instruction.name, where);
  Core& core = check.core();
  if (core.is_memory_core()) return {false, false};
  std::vector<Operand> operands = all_operands;
  std::erase_if(operands, [](const Operand& operand) { return operand.is_scalar(); });
  CheckOperands(check, instruction, flow, count, operands);
  for (const Operand& operand : operands)
    check.Ordered(operand.role, RangeOf(operand), Queue::kCompute, operand.written);
  for (const Operand& operand : operands)
    core.AddPending(Queue::kCompute, RangeOf(operand), check.issuer(), operand.written);
  core.CountVector(instruction.kind, count);
  const bool tainted = Propagate(check, flow, operands);
  if (tainted) {
    const Issuer* first = nullptr;
    for (const Operand& operand : operands) {
      if (!operand.written && first == nullptr) first = core.FindOrigin(RangeOf(operand));
    }
    core.AddOrigin(RangeOf(operands[0]), first == nullptr ? check.issuer() : *first);
    core.SetTainted(RangeOf(operands[0]));
  }
  return {true, tainted};
}

void Issued::Repoison() { CurrentCore()->Repoison(); }

uint8_t* StateOf(const void* data) { return CurrentCore()->memory(Space::kNram)->StateOf(data); }

void RequireWritten(const char* name, const Operand& operand, Where where) {
  const Check check(name, where);
  check.Written(operand.role, *check.core().memory(Space::kNram), operand.data, BytesOf(operand));
}

}  // namespace bang
