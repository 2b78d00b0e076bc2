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

  const char* role;
  Access access;
  Memory* memory;
  char* data;
  size_t size;                   // bytes of a segment
  std::vector<int64_t> offsets;  // of the segments, from `data`
  Rule rule;                     // on its address and size
  bool decides = false;          // each of its bytes must have been written

  bool is_written() const { return access != Access::kRead; }
  size_t count() const { return offsets.size(); }
  size_t total_bytes() const { return size * count(); }
  char* segment(size_t k) const { return data + offsets[k]; }
  OnChipMemory* on_chip() const {  // NULL: GDRAM
    return memory->space() == kGdram ? nullptr : static_cast<OnChipMemory*>(memory);
  }
  Range bounds() const;
  // Calls body(range) for every range; ranges are segments that touch each other.
  void ForEachRange(const std::function<void(const Range&)>& body) const;
  // Returns a hash of the contents.
  size_t Fingerprint() const;
};

class Check {
 public:
  // Fails outside a kernel, and where the instruction does not exist. Throws Aborted if another core
  // failed.
  Check(const char* instruction, Where where, const Gate& gate = {});

  Core& core() const { return core_; }
  const Issuer& issuer() const { return issuer_; }

  // Requires that the instruction exists on this architecture.
  void Exists(const Gate& gate, bool is_integer = false) const;
  // Requires disjoint ranges.
  void Disjoint(const char* role, const Range& result, const Range& source) const;
  // Requires that a side lies in one variable or allocation and obeys its rule, and that no other
  // queue or core still accesses it. Keeps its ranges until the queue is synchronized.
  void Use(const Side& side, Queue queue) const;
  // Requires that each byte was written.
  void Written(const char* role, const OnChipMemory& memory, const Range& range) const;
  // Returns the state of a result that depends on a byte of this state.
  uint8_t DependentState(uint8_t state) const;

  template <class... Ts>
  [[noreturn]] void Fail(const char* format, Ts... values) const {
    Violate(issuer_.name, issuer_.where, format, values...);
  }

 private:
  Core& core_;
  Issuer issuer_;
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
