// SPDX-License-Identifier: Apache-2.0
#include "mlu/check.h"

#include <cstring>

#include "mlu/gdram.h"
#include "mlu/job.h"
#include "mlu/settings.h"

namespace bang {
namespace {

constexpr const char* kQueueNames[] = {"IO", "Move", "Compute"};

}  // namespace

Check::Check(const char* instruction, Where where)
    : core_(CoreOf(instruction, where)), issuer_{instruction, where} {
  core_.CheckAborted();
}

void Check::Exists(const Gate& gate, bool is_integer) const {
  const int number = Architecture();
  const bool exists = number >= gate.lowest && number != gate.except[0] &&
                      number != gate.except[1] &&
                      (!is_integer || number >= gate.lowest_for_integers);
  if (exists) return;
  throw Violation{core_.Locate(issuer_) + "does not exist on " + GetSettings().card->name +
                      " (__BANG_ARCH__ " + std::to_string(number) + ")" +
                      (number >= gate.lowest && is_integer ? " for integers" : ""),
                  true};
}

void RequireArchitecture(const char* instruction, const Gate& gate, Where where) {
  if (CurrentCore() != nullptr) Check(instruction, where).Exists(gate);
}

void Check::Inside(const char* role, const void* data, size_t bytes, OnChipMemory* memory) const {
  const Space space = memory == nullptr ? Space::kGdram : memory->space();
  const Allocation* const allocation = memory == nullptr ? GetGdram().Find(data) : nullptr;
  if (memory == nullptr ? allocation == nullptr : !memory->Contains(data)) {
    const Space actual = core_.SpaceOf(data);
    Fail("%s must be in %s, got %p, an address in %s", role, SpaceName(space), data,
         actual == Space::kHost ? "no allocation" : SpaceName(actual));
  }
  if (memory == nullptr) {
    const size_t left = allocation->BytesFrom(data);
    if (bytes > left)
      Fail("%s of %zu bytes runs %zu bytes past the end of its allocation of %zu bytes", role,
           bytes, bytes - left, allocation->bytes);
    return;
  }
  const OnChipVariable* const variable = memory->Find(data);
  if (variable == nullptr) Fail("%s must be in a variable, got %p between two", role, data);
  const size_t left = variable->BytesFrom(data);
  if (bytes > left)
    Fail("%s of %zu bytes runs %zu bytes past the end of %s, which has %zu bytes of %s", role,
         bytes, bytes - left, variable->name, variable->bytes, SpaceName(space));
  const size_t used = memory->Touch(*variable, static_cast<const char*>(data) + bytes);
  if (used > memory->limit())
    Violate(variable->name, variable->where,
            "the variables in %s that the kernel uses have %zu bytes, and %zu are usable",
            SpaceName(space), used, memory->limit());
}

void Check::Alignment(const char* role, const void* data, size_t bytes, Rule rule) const {
  const bool everywhere = rule == kSize128 || rule == kAll128;
  if (rule == kNoRule || (!Is2xx() && !everywhere)) return;
  const size_t behind = reinterpret_cast<uintptr_t>(data) % 64;
  if (behind != 0 && (Is2xx() || rule == kAll128))
    Fail("%s must have a 64-byte address%s, got one %zu bytes behind", role,
         rule == kAll128 ? "" : " on 2xx", behind);
  const size_t step = rule == k2xx64 ? 64 : 128;
  if (bytes % step != 0)
    Fail("%s must have a multiple of %zu bytes%s, got %zu", role, step, everywhere ? "" : " on 2xx",
         bytes);
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
    Fail("%s %s memory, which %s of line %d (%s queue) still %s: a synchronisation is missing",
         role, written ? "overwrites" : "reads", issuer->name, issuer->where.line,
         kQueueNames[static_cast<int>(other)], is_write ? "writes" : "reads");
  }
}

void Check::Exclusive(const char* role, const Range& range, OnChipMemory* memory,
                      Access access) const {
  Writers::Target target = {memory, 0, true};
  size_t offset = 0;
  if (memory == nullptr) {
    const Allocation& allocation = *GetGdram().Find(range.begin);
    target = {&allocation, allocation.bytes, false};
    offset = static_cast<size_t>(range.begin - allocation.begin);
  } else if (memory->space() == Space::kSram) {
    target.size = memory->size();
    offset = memory->OffsetOf(range.begin);
  } else {
    return;
  }
  const Epoch* const other =
      core_.launch().writers().Touch(target, offset, range.size(), core_.epoch(), access);
  if (other != nullptr)
    Fail("%s of %zu bytes in %s is also accessed by %s, without a barrier in between", role,
         range.size(), memory == nullptr ? "GDRAM" : "SRAM", other->Name().c_str());
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
          "read bytes that nothing has written; their result is used by %s of line %d",
          issuer_.name, issuer_.where.line);
}

}  // namespace bang
