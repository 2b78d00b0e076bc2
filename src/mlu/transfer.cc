// SPDX-License-Identifier: Apache-2.0
#include "mlu/transfer.h"

#include <algorithm>

#include "mlu/settings.h"

namespace bang {
namespace {

// A side lies in one variable or allocation, is ordered behind the other queues, and belongs to
// this core. Keeps its ranges in on-chip memory until the queue is synchronized.
void Use(const Check& check, const Side& side, Queue queue) {
  const bool written = side.access != Access::kRead;
  check.Inside(side.role, side.bounds(), *side.memory);
  side.ForEachRange([&](const Range& range) {
    check.Ordered(side.role, range, queue, written);
    check.Exclusive(side.role, range, *side.memory, side.access);
  });
  // Only the IO queue reaches GDRAM, and keeps its order.
  if (side.on_chip() == nullptr) return;
  side.ForEachRange(
      [&](const Range& range) { check.core().AddPending(queue, range, check.issuer(), written); });
}

}  // namespace

Side MakeSide(const char* role, Access access, Memory* memory, const End& end) {
  std::vector<int64_t> offsets(end.segments.count());
  for (size_t k = 0; k < offsets.size(); ++k) offsets[k] = end.segments.Offset(k);
  char* const data = const_cast<char*>(static_cast<const char*>(end.data));
  return {role, access, memory, data, end.size, std::move(offsets)};
}

Range Side::bounds() const {
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  return {data + *low, data + *high + size};
}

void Side::ForEachRange(const std::function<void(const Range&)>& body) const {
  Range range = RangeOf(segment(0), size);
  for (size_t k = 1; k < count(); ++k) {
    if (segment(k) == range.end) {
      range.end += size;
      continue;
    }
    body(range);
    range = RangeOf(segment(k), size);
  }
  body(range);
}

uint64_t Side::Fingerprint() const {
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  ForEachRange([&](const Range& range) {
    for (const char* p = range.begin; p < range.end; ++p)
      hash = (hash ^ static_cast<unsigned char>(*p)) * 1099511628211u;
  });
  return hash;
}

void Transfer(const Check& check, Queue queue, Timing timing, const std::vector<Side>& sides,
              const std::function<void(size_t k)>& work) {
  Core& core = check.core();
  if (timing == Timing::kSync) core.Drain();
  // Strict mode: scalar code must not change a source before the copy has happened.
  const bool watches = GetSettings().strict && timing == Timing::kAsync && core.is_idle(queue);
  std::vector<std::pair<Side, uint64_t>> watched;
  for (const Side& side : sides) {
    Use(check, side, queue);
    if (watches && side.access == Access::kRead && side.on_chip() != nullptr)
      watched.emplace_back(side, side.Fingerprint());
  }
  const auto run = [check, watched, count = sides[0].count(), work] {
    for (const auto& [side, fingerprint] : watched) {
      if (side.Fingerprint() != fingerprint)
        check.Fail("%s was changed before the copy was synchronized", side.role);
    }
    for (size_t k = 0; k < count; ++k) work(k);
  };
  if (timing == Timing::kAsync) return core.Defer(queue, run);
  run();
  if (timing == Timing::kSync) core.Drain();  // forgets its accesses: it is complete
}

}  // namespace bang
