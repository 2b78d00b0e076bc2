// SPDX-License-Identifier: Apache-2.0
// Copies, fills, gathers and atomics: instructions that access segments of one or more memories.
#pragma once

#include <functional>
#include <vector>

#include "mlu/check.h"

namespace bang {

// The segments of one memory that an instruction accesses.
struct Side {
  const char* role;
  Access access;
  Memory* memory;
  char* data;
  size_t size;                   // bytes of a segment
  std::vector<int64_t> offsets;  // of the segments, from `data`

  size_t count() const { return offsets.size(); }
  size_t total_bytes() const { return size * count(); }
  char* segment(size_t k) const { return data + offsets[k]; }
  OnChipMemory* on_chip() const {  // NULL: GDRAM
    return memory->space() == kGdram ? nullptr : static_cast<OnChipMemory*>(memory);
  }
  Range bounds() const;
  // Calls body(range) for every range; ranges are segments that touch each other.
  void ForEachRange(const std::function<void(const Range&)>& body) const;
  // Changes if the content changes.
  uint64_t Fingerprint() const;
};
Side MakeSide(const char* role, Access access, Memory* memory, const End& end);

enum class Timing : uint8_t {
  kSync,    // starts after everything before it, and is complete before the next instruction
  kAsync,   // runs until its queue is synchronized
  kVector,  // in order with its own queue; other queues need a synchronisation
};
// Checks and orders the sides, then runs work(k) for every segment of the first one.
void Transfer(const Check& check, Queue queue, Timing timing, const std::vector<Side>& sides,
              const std::function<void(size_t k)>& work);

}  // namespace bang
