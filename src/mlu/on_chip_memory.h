// SPDX-License-Identifier: Apache-2.0
// One on-chip memory: NRAM, WRAM or LDRAM of a core, or SRAM of a cluster. Each declared variable
// lies between inaccessible pages, and every byte has a state: whether it was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

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
  char* begin;
  size_t bytes;
};

class OnChipMemory {
 public:
  OnChipMemory(Space space, size_t limit);

  Space space() const { return space_; }
  size_t limit() const { return limit_; }

  // Returns the variable of `key`, which is placed at first use. Returns NULL if the variables
  // together exceed the limit; *used is then their size.
  char* Declare(const void* key, const char* name, size_t bytes, size_t* used);
  // Fills all variables with the poison pattern; no byte counts as written.
  void Poison();
  // Forgets the variables, for the next launch.
  void Reset();

  bool Contains(const void* pointer) const {
    const char* const p = static_cast<const char*>(pointer);
    return p >= map_.data() && p < map_.data() + map_.size();
  }
  // Returns the variable that contains [pointer, pointer + 1), or NULL.
  const OnChipVariable* Find(const void* pointer) const;
  uint8_t* StateOf(const void* pointer) const {
    return reinterpret_cast<uint8_t*>(state_.data()) +
           (static_cast<const char*>(pointer) - map_.data());
  }
  // Counts the bytes of a variable up to `end` as used.
  void Touch(const OnChipVariable& variable, const void* end);
  size_t peak() const { return peak_; }
  size_t size() const { return map_.size(); }
  size_t OffsetOf(const void* pointer) const {
    return static_cast<size_t>(static_cast<const char*>(pointer) - map_.data());
  }

 private:
  Space space_;
  size_t limit_;
  Mapping map_;
  Mapping state_;
  mutable std::mutex mutex_;
  std::vector<OnChipVariable> variables_;
  size_t used_ = 0;
  size_t next_ = 0;
  size_t peak_ = 0;
};

}  // namespace bang
