// SPDX-License-Identifier: Apache-2.0
// Address ranges of instructions that have been issued and not yet synchronized.
#pragma once

#include <map>

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

// Disjoint ranges, each with the instruction that was issued last.
class IntervalMap {
 public:
  void Insert(Range range, const Issuer& issuer) {
    auto node = ranges_.upper_bound(range.begin);
    if (node != ranges_.begin() && std::prev(node)->second.end >= range.begin) --node;
    while (node != ranges_.end() && node->first <= range.end) {  // merge
      if (node->first < range.begin) range.begin = node->first;
      if (node->second.end > range.end) range.end = node->second.end;
      node = ranges_.erase(node);
    }
    ranges_.emplace_hint(node, range.begin, Node{range.end, issuer});
  }

  // Returns the instruction of a range that overlaps, or NULL.
  const Issuer* Find(const Range& range) const {
    auto node = ranges_.lower_bound(range.end);
    if (node == ranges_.begin()) return nullptr;
    --node;
    return node->second.end > range.begin ? &node->second.issuer : nullptr;
  }

  void Clear() { ranges_.clear(); }

 private:
  struct Node {
    const char* end;
    Issuer issuer;
  };
  std::map<const char*, Node> ranges_;
};

}  // namespace bang
