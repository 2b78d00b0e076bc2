// SPDX-License-Identifier: Apache-2.0
#include "mlu/check.h"

#include <cstring>

#include "mlu/gdram.h"
#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

constexpr const char* kQueueNames[] = {"IO", "Move", "Compute"};

size_t Misalignment(const void* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment;
}

}  // namespace

void Check::Exists(const Gate& gate) const {
  const int number = GetSettings().architecture->number;
  const bool exists = number >= gate.lowest && number != gate.except[0] && number != gate.except[1];
  if (exists) return;
  std::string message = core_.Locate(name_, where_) + "does not exist on " +
                        GetSettings().architecture->name + " (__BANG_ARCH__ " +
                        std::to_string(number) + ")";
  throw Violation{message, true};
}

void Check::Inside(const char* role, const void* data, size_t bytes, Space space) const {
  const Space actual = core_.SpaceOf(data);
  if (actual != space)
    Fail("%s must be in %s, got %p, an address in %s", role, SpaceName(space), data,
         actual == Space::kHost ? "no allocation" : SpaceName(actual));
  if (space == Space::kGdram) {
    const Allocation& allocation = *GetGdram().Find(data);
    const size_t left =
        static_cast<size_t>(allocation.begin + allocation.bytes - static_cast<const char*>(data));
    if (bytes > left)
      Fail("%s of %zu bytes runs %zu bytes past the end of its allocation of %zu bytes", role,
           bytes, bytes - left, allocation.bytes);
    return;
  }
  OnChipMemory& memory = *core_.memory(space);
  const OnChipVariable* const variable = memory.Find(data);
  if (variable == nullptr) Fail("%s must be in a variable, got %p between two", role, data);
  const size_t left =
      static_cast<size_t>(variable->begin + variable->bytes - static_cast<const char*>(data));
  if (bytes > left)
    Fail("%s of %zu bytes runs %zu bytes past the end of %s, which has %zu bytes of %s", role,
         bytes, bytes - left, variable->name, variable->bytes, SpaceName(space));
  const size_t used = memory.Touch(*variable, static_cast<const char*>(data) + bytes);
  if (used > memory.limit())
    Violate(variable->name, variable->where,
            "the variables in %s that the kernel uses have %zu bytes, and %zu are usable",
            SpaceName(space), used, memory.limit());
}

void Check::Alignment(const char* role, const void* data, size_t bytes, Rule rule) const {
  const bool is_2xx = GetSettings().architecture->number < 300;
  if (rule == Rule::kNone || (!is_2xx && rule != Rule::kAll128)) return;
  if (is_2xx && Misalignment(data, 64) != 0)
    Fail("%s must have a 64-byte address on 2xx, got one %zu bytes behind", role,
         Misalignment(data, 64));
  const size_t step = rule == Rule::k2xx64 ? 64 : 128;
  if (bytes % step != 0)
    Fail("%s must have a multiple of %zu bytes%s, got %zu", role, step,
         rule == Rule::kAll128 ? "" : " on 2xx", bytes);
}

void Check::Disjoint(const char* role, const Range& result, const Range& source) const {
  if (result.Overlaps(source))
    Fail("dst and %s must not overlap, got [%p, %p) and [%p, %p)", role,
         static_cast<const void*>(result.begin), static_cast<const void*>(result.end),
         static_cast<const void*>(source.begin), static_cast<const void*>(source.end));
}

void Check::Ordered(const char* role, const Range& range, Queue queue, bool written) const {
  for (const Queue other : {Queue::kIo, Queue::kMove, Queue::kCompute}) {
    if (other == queue) continue;
    bool is_write = false;
    const Issuer* const issuer = core_.FindPending(other, queue, range, written, &is_write);
    if (issuer == nullptr) continue;
    Fail("%s %s %s, which %s of line %d (%s queue) still %s: a synchronisation is missing", role,
         written ? "overwrites" : "reads", "memory", issuer->name, issuer->where.line,
         kQueueNames[static_cast<int>(other)], is_write ? "writes" : "reads");
  }
}

void Check::Exclusive(const char* role, const void* data, size_t bytes, Space space,
                      Access access) const {
  Writers::Target target;
  size_t offset = 0;
  if (space == Space::kGdram) {
    const Allocation& allocation = *GetGdram().Find(data);
    target = {&allocation, allocation.bytes, false};
    offset = static_cast<size_t>(static_cast<const char*>(data) - allocation.begin);
  } else if (space == Space::kSram) {
    const OnChipMemory& sram = *core_.memory(space);
    target = {&sram, sram.size(), true};
    offset = sram.OffsetOf(data);
  } else {
    return;
  }
  const Epoch* const other =
      core_.launch().writers().Touch(target, offset, bytes, core_.epoch(), access);
  if (other != nullptr)
    Fail("%s of %zu bytes in %s is also accessed by %s, without a barrier in between", role, bytes,
         SpaceName(space), other->Name().c_str());
}

bool Check::IsWritten(OnChipMemory& memory, const void* data, size_t bytes) {
  uint8_t* const state = memory.StateOf(data);
  const auto* const content = static_cast<const unsigned char*>(data);
  const auto* at = static_cast<const uint8_t*>(std::memchr(state, 0, bytes));
  for (; at != nullptr; at = static_cast<const uint8_t*>(
                            std::memchr(at, 0, bytes - static_cast<size_t>(at - state)))) {
    const auto i = static_cast<size_t>(at - state);
    const size_t phase = reinterpret_cast<uintptr_t>(content + i) % 4;
    const size_t begin = i < phase ? 0 : i - phase;
    const size_t end = std::min(bytes, i - phase + 4);
    bool is_poison = true;
    for (size_t k = begin; k < end; ++k) is_poison &= state[k] != 0 || content[k] == kPoison;
    if (is_poison) return false;
    std::memset(state + begin, 1, end - begin);
  }
  return true;
}

void Check::Written(const char* role, OnChipMemory& memory, const void* data, size_t bytes) const {
  if (IsWritten(memory, data, bytes)) return;
  const Issuer* const origin = core_.FindOrigin(RangeOf(data, bytes));
  if (origin == nullptr) Fail("%s of %zu bytes has bytes that nothing has written", role, bytes);
  Violate(origin->name, origin->where,
          "read bytes that nothing has written; their result is used by %s of line %d", name_,
          where_.line);
}

}  // namespace bang
