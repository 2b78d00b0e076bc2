// SPDX-License-Identifier: Apache-2.0
// One side of a copy, fill, gather or atomic: segments of memory in one space.
#pragma once

#include <functional>
#include <vector>

#include "mlu/check.h"

namespace bang {

class Side {
 public:
  Side(const char* role, const void* data, Space space, size_t size)
      : role_(role), data_(static_cast<const char*>(data)), space_(space), size_(size) {}

  // Adds the segments of a copy. Segments that touch become one.
  void Add(const Segments& segments);
  void Add(int64_t offset);

  Space space() const { return space_; }
  size_t segment_bytes() const { return size_; }
  size_t total_bytes() const;
  char* segment(size_t k) const { return const_cast<char*>(data_ + offsets_[k]); }
  size_t count() const { return offsets_.size(); }
  Range bounds() const;

  // Lies in one variable or allocation, is ordered behind the other queues, and belongs to this core.
  void CheckAccess(const Check& check, Queue queue, Access access) const;
  // Keeps the ranges in on-chip memory until the queue is synchronized.
  void AddPending(Core& core, Queue queue, const Issuer& issuer, bool written) const;
  // Calls body(range) for every range; ranges are segments that touch each other.
  void ForEachRange(const std::function<void(const Range&)>& body) const;
  // Changes if the content changes.
  uint64_t Fingerprint() const;

 private:
  const char* role_;
  const char* data_;
  Space space_;
  size_t size_;
  std::vector<int64_t> offsets_;
};

// Copies `bytes`, and the state of on-chip bytes. A copy to GDRAM needs bytes that were written.
void MoveBytes(Core& core, const Check& check, const Issuer& issuer, char* to, Space to_space,
               const char* from, Space from_space, size_t bytes);

// Runs the work now, or later if it is asynchronous.
void Dispatch(Core& core, Queue queue, bool async, std::function<void()> work);

}  // namespace bang
