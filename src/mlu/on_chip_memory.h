// SPDX-License-Identifier: Apache-2.0
// One on-chip memory: NRAM, WRAM or LDRAM of a core, or SRAM of a cluster. Each declared variable
// lies between inaccessible pages, and every byte has a state: whether it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "bang/instruction.h"

namespace bang {

struct OnChipVariable {
  const void* key;
  const char* name;
  Where where;
  char* begin;
  size_t bytes;
  size_t peak = 0;  // the bytes that instructions have touched, from the start

  size_t BytesFrom(const void* pointer) const {
    return static_cast<size_t>(begin + bytes - static_cast<const char*>(pointer));
  }
};

class OnChipMemory {
 public:
  OnChipMemory(Space space, size_t limit);  // throws std::bad_alloc
  ~OnChipMemory();
  OnChipMemory(const OnChipMemory&) = delete;
  OnChipMemory& operator=(const OnChipMemory&) = delete;

  Space space() const { return space_; }
  size_t limit() const { return limit_; }
  size_t size() const { return size_; }
  size_t OffsetOf(const void* pointer) const {
    return static_cast<size_t>(static_cast<const char*>(pointer) - map_);
  }
  bool Contains(const void* pointer) const {
    const char* const p = static_cast<const char*>(pointer);
    return p >= map_ && p < map_ + size_;
  }
  uint8_t* StateOf(const void* pointer) const {
    return reinterpret_cast<uint8_t*>(map_) + size_ + OffsetOf(pointer);
  }

  // Returns the variable of `key`, which is placed at first use. Returns NULL if the addresses are
  // used up. A source declares the variables of all its kernels: only variables that the
  // instructions of a kernel use count against the limit.
  char* Declare(const void* key, const char* name, size_t bytes, Where where);
  // Fills all variables with the poison pattern; no byte counts as written.
  void Poison();
  // Returns the variable that contains the byte at `pointer`, or NULL.
  const OnChipVariable* Find(const void* pointer) const;
  // An instruction uses the bytes of a variable before `end`. Returns the bytes of all variables in
  // use.
  size_t Touch(const OnChipVariable& variable, const void* end);
  // The bytes that instructions have touched.
  size_t peak() const;

 private:
  Space space_;
  size_t limit_;
  size_t size_;
  char* map_;  // the memory, and behind it the states of its bytes
  mutable std::mutex mutex_;
  std::deque<OnChipVariable> variables_;  // Find returns pointers to them
  size_t used_ = 0;
  size_t next_ = 0;
};

}  // namespace bang
