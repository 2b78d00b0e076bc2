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

inline constexpr int kPoison = 0xCB;  // a float of -2.7e7, a half of -15.6

// Address space with inaccessible pages. Pages become accessible by Open.
class Mapping {
 public:
  explicit Mapping(size_t bytes);  // throws std::bad_alloc
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  void Open(size_t offset, size_t bytes);

 private:
  char* data_;
  size_t size_;
};

struct OnChipVariable {
  const void* key;
  const char* name;
  Where where;
  char* begin;
  size_t bytes;
  size_t peak = 0;  // the bytes that instructions have touched, from the start
};

class OnChipMemory {
 public:
  OnChipMemory(Space space, size_t limit);

  Space space() const { return space_; }
  size_t limit() const { return limit_; }
  size_t size() const { return map_.size(); }
  size_t OffsetOf(const void* pointer) const {
    return static_cast<size_t>(static_cast<const char*>(pointer) - map_.data());
  }
  bool Contains(const void* pointer) const {
    const char* const p = static_cast<const char*>(pointer);
    return p >= map_.data() && p < map_.data() + map_.size();
  }
  uint8_t* StateOf(const void* pointer) const {
    return reinterpret_cast<uint8_t*>(state_.data()) + OffsetOf(pointer);
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
  Mapping map_;
  Mapping state_;
  mutable std::mutex mutex_;
  std::deque<OnChipVariable> variables_;  // Find returns pointers to them
  size_t used_ = 0;
  size_t next_ = 0;
};

}  // namespace bang
