// SPDX-License-Identifier: Apache-2.0
// The memories of the card: GDRAM, SRAM of a cluster, and NRAM, WRAM and LDRAM of a core. Each
// allocation and each variable lies between inaccessible pages.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <shared_mutex>

#include "bang/instruction.h"

namespace bang {

struct Range {
  const char* begin;
  const char* end;

  size_t size() const { return static_cast<size_t>(end - begin); }
  bool Overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};
inline Range RangeOf(const void* begin, size_t bytes) {
  const char* const first = static_cast<const char*>(begin);
  return {first, first + bytes};
}

struct Issuer {
  const char* name;
  Where where;
};

// Address ranges of instructions. The ranges are disjoint: each byte belongs to the instruction that
// was issued last.
class IntervalMap {
 public:
  void Insert(const Range& range, const Issuer& issuer) {
    Erase(range);
    ranges_.emplace(range.end, Node{range.begin, issuer});
  }
  void Erase(const Range& range) {
    auto node = ranges_.upper_bound(range.begin);
    while (node != ranges_.end() && node->second.begin < range.end) {
      const auto [end, old] = *node;
      node = ranges_.erase(node);
      if (old.begin < range.begin) ranges_.emplace_hint(node, range.begin, old);
      if (range.end < end) node = ranges_.emplace_hint(node, end, Node{range.end, old.issuer});
    }
  }

  // Returns the instruction of a range that overlaps, or NULL.
  const Issuer* Find(const Range& range) const {
    const auto node = ranges_.upper_bound(range.begin);
    const bool overlaps = node != ranges_.end() && node->second.begin < range.end;
    return overlaps ? &node->second.issuer : nullptr;
  }

 private:
  struct Node {
    const char* begin;
    Issuer issuer;
  };
  std::map<const char*, Node> ranges_;  // by end
};

// A variable in on-chip memory, or an allocation in GDRAM.
struct Block {
  const char* name;
  char* begin;
  size_t bytes;
  const void* key = nullptr;  // identifies the declaration of a variable
  Where where = Where();      // its line
  size_t peak = 0;            // the bytes that instructions have touched, from the start
  char* pages = nullptr;      // the pages of an allocation
  size_t page_bytes = 0;

  size_t BytesFrom(const void* pointer) const {
    return static_cast<size_t>(begin + bytes - static_cast<const char*>(pointer));
  }
};

class Memory {
 public:
  const Space space;

  // Returns the block that contains `pointer`, or NULL. The end of a block belongs to it.
  const Block* Find(const void* pointer) const;
  // Writes the bytes of an instruction, and their states.
  void Write(char* to, const char* from, size_t bytes) {
    std::memmove(to, from, bytes);
    if (states_ != 0) std::memset(to + states_, kWritten, bytes);
  }

 protected:
  explicit Memory(Space its_space, size_t states = 0) : space(its_space), states_(states) {}

  const size_t states_;  // the distance from a byte to its state; 0: GDRAM, without states
  mutable std::shared_mutex mutex_;
  std::map<const char*, Block, std::greater<>> blocks_;  // by begin, the last one first
};

// The host reaches GDRAM by Access only; its addresses are accessible while a kernel runs.
class Gdram final : public Memory {
 public:
  Gdram() : Memory(kGdram) {}

  // Returns NULL if there is no memory.
  void* Allocate(size_t bytes);
  // Returns false if `pointer` is not the start of an allocation.
  bool Free(void* pointer);
  // Runs `body`, which accesses ranges of host memory and GDRAM. Returns false if one runs past the
  // end of its allocation.
  bool Access(std::initializer_list<Range> ranges, const std::function<void()>& body);
  // Adds a user, or removes one (-1). All allocations are accessible while there are users.
  void AddUser(int change);

 private:
  int users_ = 0;
};
Gdram& GetGdram();

// Every byte of on-chip memory has a state: kWritten, kUnwritten or the number of an origin.
class OnChipMemory final : public Memory {
 public:
  OnChipMemory(Space its_space, size_t usable);  // throws std::bad_alloc
  ~OnChipMemory();

  const size_t limit;

  bool Contains(const void* pointer) const { return pointer >= map_ && pointer < map_ + states_; }
  ptrdiff_t states() const { return static_cast<ptrdiff_t>(states_); }
  uint8_t* StateOf(const void* pointer) const {
    return const_cast<uint8_t*>(static_cast<const uint8_t*>(pointer)) + states_;
  }
  // Returns the state of the first byte that nothing has written, or NULL. Scalar code writes
  // without a trace: a word without the poison pattern counts as written. Marks these words.
  const uint8_t* FindUnwritten(const Range& range) const;

  // Returns the variable of `key`, which is placed at first use. Returns NULL if the addresses are
  // used up. A source declares the variables of all its kernels: only variables that the
  // instructions of a kernel use count against the limit.
  char* Declare(const void* key, const char* name, size_t bytes, Where where);
  // Fills all variables with the poison pattern; no byte counts as written.
  void Poison();
  // Records that an instruction uses the bytes of a variable before `end`. Returns the bytes of all
  // variables in use.
  size_t Touch(const Block& variable, const char* end);
  // The bytes that instructions have touched.
  size_t peak() const {
    const std::shared_lock lock(mutex_);
    size_t sum = 0;
    for (const auto& [begin, variable] : blocks_) sum += variable.peak;
    return sum;
  }

 private:
  char* const map_;  // the memory, and behind it the states of its bytes
  size_t used_ = 0;
  size_t next_ = 0;
};

}  // namespace bang
