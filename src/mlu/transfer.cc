// SPDX-License-Identifier: Apache-2.0
#include "mlu/transfer.h"

#include <algorithm>
#include <cstring>

namespace bang {
namespace {

std::vector<int64_t> OffsetsOf(const Segments& segments) {
  std::vector<int64_t> offsets(segments.count());
  for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = segments.Offset(k);
  return offsets;
}

}  // namespace

Side::Side(const char* role, const End& end, OnChipMemory* memory)
    : Side(role, end, memory, OffsetsOf(end.segments)) {}

Side::Side(const char* role, const End& end, OnChipMemory* memory, std::vector<int64_t> offsets)
    : role_(role),
      data_(static_cast<const char*>(end.data)),
      memory_(memory),
      size_(end.size),
      offsets_(std::move(offsets)) {}

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

void Side::Use(const Check& check, Queue queue, Access access) const {
  check.Inside(role_, bounds().begin, bounds().size(), memory_);
  const bool written = access != Access::kRead;
  ForEachRange([&](const Range& range) {
    // Only the IO queue reaches GDRAM, and keeps its order.
    if (memory_ != nullptr) check.Ordered(role_, range, queue, written);
    check.Exclusive(role_, range, memory_, access);
  });
  if (memory_ == nullptr) return;
  ForEachRange(
      [&](const Range& range) { check.core().AddPending(queue, range, check.issuer(), written); });
}

uint64_t Side::Fingerprint() const {
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  ForEachRange([&](const Range& range) {
    for (const char* p = range.begin; p < range.end; ++p)
      hash = (hash ^ static_cast<unsigned char>(*p)) * 1099511628211u;
  });
  return hash;
}

void CopySegment(const Check& check, const Side& to, const Side& from, size_t k) {
  char* const target = to.segment(k);
  const char* const source = from.segment(k);
  const size_t bytes = to.segment_bytes();
  OnChipMemory* const memory = from.memory();
  const bool written = memory == nullptr || Check::IsWritten(*memory, source, bytes);
  if (!written && to.memory() == nullptr) check.Written("src", *memory, source, bytes);
  std::memmove(target, source, bytes);
  if (to.memory() == nullptr) return;
  if (written) {
    std::memset(to.memory()->StateOf(target), 1, bytes);
  } else {
    std::memmove(to.memory()->StateOf(target), memory->StateOf(source), bytes);
    const Issuer* const first = check.core().FindOrigin(RangeOf(source, bytes));
    check.core().AddOrigin(RangeOf(target, bytes), first == nullptr ? check.issuer() : *first);
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
