// SPDX-License-Identifier: Apache-2.0
#include "mlu/transfer.h"

#include <algorithm>
#include <cstring>

namespace bang {

void Side::Add(const Segments& segments) {
  offsets_.reserve(segments.count());
  for (size_t k = 0; k < segments.count(); ++k) offsets_.push_back(segments.Offset(k));
}

void Side::Add(int64_t offset) { offsets_.push_back(offset); }

size_t Side::total_bytes() const { return size_ * offsets_.size(); }

Range Side::bounds() const {
  const auto [low, high] = std::minmax_element(offsets_.begin(), offsets_.end());
  return {data_ + *low, data_ + *high + size_};
}

void Side::ForEachRange(const std::function<void(const Range&)>& body) const {
  Range range = RangeOf(segment(0), size_);
  for (size_t k = 1; k < count(); ++k) {
    if (segment(k) == range.end) {
      range.end += size_;
      continue;
    }
    body(range);
    range = RangeOf(segment(k), size_);
  }
  body(range);
}

void Side::CheckAccess(const Check& check, Queue queue, Access access) const {
  const Range all = bounds();
  check.Inside(role_, all.begin, static_cast<size_t>(all.end - all.begin), space_);
  ForEachRange([&](const Range& range) {
    if (space_ != Space::kGdram) check.Ordered(role_, range, queue, access != Access::kRead);
    check.Exclusive(role_, range.begin, static_cast<size_t>(range.end - range.begin), space_,
                    access);
  });
}

void Side::AddPending(Core& core, Queue queue, const Issuer& issuer, bool written) const {
  if (space_ == Space::kGdram) return;  // only the IO queue reaches it, and keeps its order
  ForEachRange([&](const Range& range) { core.AddPending(queue, range, issuer, written); });
}

uint64_t Side::Fingerprint() const {
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  ForEachRange([&](const Range& range) {
    for (const char* p = range.begin; p < range.end; ++p)
      hash = (hash ^ static_cast<unsigned char>(*p)) * 1099511628211u;
  });
  return hash;
}

void MoveBytes(Core& core, const Check& check, const Issuer& issuer, char* to, Space to_space,
               const char* from, Space from_space, size_t bytes) {
  OnChipMemory* const target = core.memory(to_space);
  OnChipMemory* const source = core.memory(from_space);
  const bool written = source == nullptr || Check::IsWritten(*source, from, bytes);
  if (!written && target == nullptr) check.Written("src", *source, from, bytes);
  if (!written) {
    const Issuer* const first = core.FindOrigin(RangeOf(from, bytes));
    core.AddOrigin(RangeOf(to, bytes), first == nullptr ? issuer : Issuer(*first));
  }
  std::memmove(to, from, bytes);
  if (target == nullptr) return;
  if (written) {
    std::memset(target->StateOf(to), 1, bytes);
  } else {
    std::memmove(target->StateOf(to), source->StateOf(from), bytes);
  }
}

void Dispatch(Core& core, Queue queue, bool async, std::function<void()> work) {
  if (queue == Queue::kCompute) {
    work();
  } else if (async) {
    core.Defer(queue, std::move(work));
  } else {
    work();
    core.Drain();  // forgets the accesses of this instruction, which is complete
  }
}

}  // namespace bang
