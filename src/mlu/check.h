// SPDX-License-Identifier: Apache-2.0
// The checks of one instruction: addresses, alignment, order and bytes that were never written.
#pragma once

#include "bang/copy.h"
#include "mlu/core.h"
#include "mlu/interval_map.h"
#include "mlu/writers.h"

namespace bang {

class Check {
 public:
  Check(Core& core, const char* instruction, Where where)
      : core_(core), name_(instruction), where_(where) {}

  // The instruction exists on this architecture.
  void Exists(const Gate& gate) const;
  // [data, data + bytes) lies in one variable or allocation of that space.
  void Inside(const char* role, const void* data, size_t bytes, Space space) const;
  // The addresses and the size of a vector operand obey the rule of this architecture.
  void Alignment(const char* role, const void* data, size_t bytes, Rule rule) const;
  // The ranges are disjoint.
  void Disjoint(const char* role, const Range& result, const Range& source) const;

  // No instruction of another queue that is still running touches the range.
  void Ordered(const char* role, const Range& range, Queue queue, bool written) const;
  // No other core of the launch accesses the range without a barrier in between.
  void Exclusive(const char* role, const void* data, size_t bytes, Space space,
                 Access access) const;

  // Whether all bytes were written. Scalar code writes without a trace: a word without the poison
  // pattern counts as written.
  static bool IsWritten(OnChipMemory& memory, const void* data, size_t bytes);
  void Written(const char* role, OnChipMemory& memory, const void* data, size_t bytes) const;

  template <class... Ts>
  [[noreturn]] void Fail(const char* format, Ts... values) const {
    Violate(name_, where_, format, values...);
  }

 private:
  Core& core_;
  const char* name_;
  Where where_;
};

}  // namespace bang
