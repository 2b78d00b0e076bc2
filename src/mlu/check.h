// SPDX-License-Identifier: Apache-2.0
// An instruction that the calling core issues: the checks of its operands, and its order.
#pragma once

#include <functional>
#include <vector>

#include "bang/copy.h"
#include "mlu/core.h"

namespace bang {

// The segments of one memory that an instruction accesses.
struct Side {
  Side(const char* name, Access kind, Memory* location, const End& end, Rule its_rule = kNoRule);
  Side(const Operand& operand, Memory* location, Rule its_rule = kNoRule);

  const char* role;
  Access access;
  Memory* memory;
  size_t size;           // bytes of a segment
  Rule rule;             // on its address and size
  bool decides = false;  // each of its bytes must have been written
  std::vector<char*> segments = {};

  bool is_written() const { return access != Access::kRead; }
  size_t total_bytes() const { return size * segments.size(); }
  OnChipMemory* on_chip() const {  // NULL: GDRAM
    return memory->space == kGdram ? nullptr : static_cast<OnChipMemory*>(memory);
  }
  Range bounds() const {
    const auto [low, high] = std::ranges::minmax(segments);
    return {low, high + size};
  }
  // Segments that touch each other are one range.
  std::vector<Range> Ranges() const;
  // Returns a hash of the contents.
  size_t Fingerprint() const;
};

struct Check {
  // Fails outside a kernel, and where the instruction does not exist. Throws an empty Violation if
  // another core failed.
  Check(const char* instruction, Where where, const Gate& gate = {});

  Core& core;
  const Issuer issuer;

  // Requires that the instruction exists on this architecture.
  void Exists(const Gate& gate, bool is_integer = false) const;
  // Requires disjoint ranges.
  void Disjoint(const char* role, const Range& result, const Range& source) const {
    if (result.Overlaps(source))
      Fail("dst and %s must not overlap, got [%p, %p) and [%p, %p)", role, result.begin, result.end,
           source.begin, source.end);
  }
  // Requires that a side lies in one variable or allocation.
  void Inside(const Side& side) const;
  // Requires that a side is inside and obeys its rule, and that no other queue or core still
  // accesses it. Keeps its ranges until the queue is synchronized.
  void Use(const Side& side, Queue queue) const;
  // Requires that each byte was written.
  void Written(const char* role, const OnChipMemory& memory, const Range& range) const;

  template <class... Ts>
  [[noreturn]] void Fail(const char* format, Ts... values) const {
    Violate(issuer.name, issuer.where, format, values...);
  }
};

enum class Timing : uint8_t {
  kSync,    // starts after everything before it, and is complete before the next instruction
  kAsync,   // runs until its queue is synchronized
  kVector,  // in order with its own queue; other queues need a synchronisation
};
// Checks and orders the sides, then runs work(k) for every segment of the first one.
void Transfer(const Check& check, Queue queue, Timing timing, const std::vector<Side>& sides,
              const std::function<void(size_t k)>& work);

}  // namespace bang
