// SPDX-License-Identifier: Apache-2.0
// One side of a copy, fill, gather or atomic: segments of one memory.
#pragma once

#include <functional>
#include <vector>

#include "mlu/check.h"

namespace bang {

class Side {
 public:
  // `memory`: NULL for GDRAM.
  Side(const char* role, const End& end, OnChipMemory* memory);
  // Segments at any offset.
  Side(const char* role, const End& end, OnChipMemory* memory, std::vector<int64_t> offsets);

  OnChipMemory* memory() const { return memory_; }
  size_t segment_bytes() const { return size_; }
  size_t total_bytes() const { return size_ * offsets_.size(); }
  size_t count() const { return offsets_.size(); }
  char* segment(size_t k) const { return const_cast<char*>(data_ + offsets_[k]); }
  Range bounds() const;

  // Lies in one variable or allocation, is ordered behind the other queues, and belongs to this
  // core. Keeps the ranges in on-chip memory until the queue is synchronized.
  void Use(const Check& check, Queue queue, Access access) const;
  // Calls body(range) for every range; ranges are segments that touch each other.
  void ForEachRange(const std::function<void(const Range&)>& body) const;
  // Changes if the content changes.
  uint64_t Fingerprint() const;

 private:
  const char* role_;
  const char* data_;
  OnChipMemory* memory_;
  size_t size_;
  std::vector<int64_t> offsets_;
};

// Copies segment k, and the state of on-chip bytes. A copy to GDRAM needs bytes that were written.
void CopySegment(const Check& check, const Side& to, const Side& from, size_t k);

// Runs the work now, or later if it is asynchronous.
void Dispatch(Core& core, Queue queue, bool async, std::function<void()> work);

}  // namespace bang
