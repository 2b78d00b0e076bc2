// SPDX-License-Identifier: Apache-2.0
// An instruction that the calling core issues, and the checks of its operands.
#pragma once

#include "bang/copy.h"
#include "mlu/core.h"

namespace bang {

class Check {
 public:
  // Fails outside a kernel. Throws Aborted if another core failed.
  Check(const char* instruction, Where where);

  Core& core() const { return core_; }
  const Issuer& issuer() const { return issuer_; }

  // The instruction exists on this architecture.
  void Exists(const Gate& gate, bool is_integer = false) const;
  // The range lies in one variable or allocation of the memory.
  void Inside(const char* role, const Range& range, Memory& memory) const;
  // The addresses and the size of a vector operand obey the rule of this architecture.
  void Alignment(const char* role, const void* data, size_t bytes, Rule rule) const;
  // The ranges are disjoint.
  void Disjoint(const char* role, const Range& result, const Range& source) const;
  // No instruction of another queue that is still running touches the range.
  void Ordered(const char* role, const Range& range, Queue queue, bool written) const;
  // No other core of the launch accesses the range without a barrier in between.
  void Exclusive(const char* role, const Range& range, const Memory& memory, Access access) const;
  // Each byte was written.
  void Written(const char* role, const OnChipMemory& memory, const Range& range) const;
  // Returns the state of a result that depends on a byte of this state.
  uint8_t Depend(uint8_t state) const;

  template <class... Ts>
  [[noreturn]] void Fail(const char* format, Ts... values) const {
    Violate(issuer_.name, issuer_.where, format, values...);
  }

 private:
  Core& core_;
  Issuer issuer_;
};

}  // namespace bang
