// SPDX-License-Identifier: Apache-2.0
// Copies, gathers and fills.
#include "bang/copy.h"

#include <cstdlib>
#include <cstring>

#include "mlu/settings.h"
#include "mlu/transfer.h"

namespace bang {
namespace {

struct Ends {
  Space from, to;
};

constexpr Ends kEnds[kDirections] = {
    {Space::kGdram, Space::kNram},  {Space::kNram, Space::kGdram},  {Space::kLdram, Space::kNram},
    {Space::kNram, Space::kLdram},  {Space::kGdram, Space::kWram},  {Space::kWram, Space::kGdram},
    {Space::kLdram, Space::kWram},  {Space::kWram, Space::kLdram},  {Space::kNram, Space::kNram},
    {Space::kNram, Space::kWram},   {Space::kWram, Space::kNram},   {Space::kGdram, Space::kSram},
    {Space::kSram, Space::kGdram},  {Space::kLdram, Space::kSram},  {Space::kSram, Space::kLdram},
    {Space::kSram, Space::kNram},   {Space::kNram, Space::kSram},   {Space::kSram, Space::kWram},
    {Space::kWram, Space::kSram},   {Space::kGdram, Space::kGdram}, {Space::kGdram, Space::kLdram},
    {Space::kLdram, Space::kGdram}, {Space::kLdram, Space::kLdram}, {Space::kSram, Space::kSram}};

constexpr uint32_t kMostSegments = 65536;

bool IsOffChip(Space space) { return space == Space::kGdram || space == Space::kLdram; }

// The memory core executes copies between SRAM and off-chip memory or SRAM.
bool IsMemoryCoreCopy(const Ends& ends) {
  return (ends.from == Space::kSram && (IsOffChip(ends.to) || ends.to == Space::kSram)) ||
         (ends.to == Space::kSram && IsOffChip(ends.from));
}

Queue QueueOf(const Ends& ends, Form form) {
  if (IsOffChip(ends.from) || IsOffChip(ends.to)) return Queue::kIo;
  const bool is_1d_nram = ends.from == Space::kNram && ends.to == Space::kNram && form == Form::k1D;
  return is_1d_nram ? Queue::kCompute : Queue::kMove;
}

// Returns the spaces of a direction; fails where it does not exist.
Ends EndsOf(Core& core, const Check& check, mluMemcpyDirection_t direction) {
  if (direction < 0 || direction >= kDirections)
    check.Fail("dir must be a direction, got %d", static_cast<int>(direction));
  const Ends ends = kEnds[direction];
  const bool uses_sram = ends.from == Space::kSram || ends.to == Space::kSram;
  if (uses_sram && core.is_block())
    check.Fail("%s must not be used in a Block task, which has no SRAM", DirectionName(direction));
  return ends;
}

void CheckStride(const Check& check, const char* name, int64_t stride, uint32_t segments,
                 size_t size) {
  const bool unused = segments == 1;
  if (!unused && static_cast<uint64_t>(std::llabs(stride)) < size)
    check.Fail("%s must be at least the size of %zu bytes, got %lld", name, size,
               static_cast<long long>(stride));
}

void CheckShape(const Check& check, const CopyCall& call) {
  if (call.size == 0) check.Fail("size must be positive, got %d", 0);
  for (const uint32_t segments : {call.to.inner, call.to.outer, call.from.inner, call.from.outer}) {
    if (segments == 0 || segments > kMostSegments)
      check.Fail("segnum must be at most 65535, got %u", segments - 1);
  }
  if (call.form == Form::k3D) check.Exists(kFrom322);
  if (call.to.count() != call.from.count())
    check.Fail("dst and src must have as many segments, got %zu and %zu", call.to.count(),
               call.from.count());
  CheckStride(check, call.form == Form::k3D ? "dst_stride0" : "dst_stride", call.to.stride0,
              call.to.inner, call.size);
  CheckStride(check, "dst_stride1", call.to.stride1, call.to.outer, call.size);
}

// 2xx: 1D copies inside NRAM follow the rule of vector instructions. WRAM: 8-byte addresses.
void CheckCopyAlignment(const Check& check, const CopyCall& call, const Ends& ends) {
  const bool is_2xx = GetSettings().architecture->number < 300;
  if (call.form == Form::k1D && ends.from == Space::kNram && ends.to == Space::kNram) {
    check.Alignment("dst", call.dst, call.size, Rule::k2xx);
    check.Alignment("src", call.src, call.size, Rule::k2xx);
  }
  const bool to_wram = ends.to == Space::kWram;
  if (!to_wram && ends.from != Space::kWram) return;
  if (reinterpret_cast<uintptr_t>(to_wram ? call.dst : call.src) % 8 != 0)
    check.Fail("%s in WRAM must have an 8-byte address", to_wram ? "dst" : "src");
  const size_t step = is_2xx ? 64 : 16;
  if (call.form == Form::k1D && call.size % step != 0)
    check.Fail("size to or from WRAM must be a multiple of %zu bytes, got %zu", step, call.size);
}

void CheckOverlap(const Check& check, const Side& to, const Side& from) {
  if (to.space() != from.space() || !to.bounds().Overlaps(from.bounds())) return;
  IntervalMap sources;
  from.ForEachRange([&](const Range& range) { sources.Insert(range, {"", Where()}); });
  to.ForEachRange([&](const Range& range) {
    if (sources.Find(range) != nullptr) check.Disjoint("src", range, from.bounds());
  });
}

// The last steps of a copy or gather, whose segments are in `to` and `from`.
void Transfer(Core& core, const Check& check, const Issuer& issuer, Queue queue, bool async,
              const Side& to, const Side& from) {
  if (!async && queue != Queue::kCompute) core.Drain();
  from.CheckAccess(check, queue, Access::kRead);
  to.CheckAccess(check, queue, Access::kWrite);
  from.AddPending(core, queue, issuer, false);
  to.AddPending(core, queue, issuer, true);
  // Strict mode: scalar code must not change the source before the copy has happened.
  const bool watch =
      GetSettings().strict && async && core.is_idle(queue) && from.space() != Space::kGdram;
  const uint64_t fingerprint = watch ? from.Fingerprint() : 0;
  Dispatch(core, queue, async, [&core, check, issuer, to, from, watch, fingerprint] {
    if (watch && from.Fingerprint() != fingerprint)
      check.Fail("%s was changed before the copy was synchronized", "src");
    for (size_t k = 0; k < to.count(); ++k)
      MoveBytes(core, check, issuer, to.segment(k), to.space(), from.segment(k), from.space(),
                to.segment_bytes());
  });
}

}  // namespace

void Copy(const CopyCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  const Check check(core, call.name, where);
  const Ends ends = EndsOf(core, check, call.direction);
  if (IsMemoryCoreCopy(ends) != core.is_memory_core()) return;
  CheckShape(check, call);
  CheckCopyAlignment(check, call, ends);
  Side to("dst", call.dst, ends.to, call.size);
  Side from("src", call.src, ends.from, call.size);
  to.Add(call.to);
  from.Add(call.from);
  CheckOverlap(check, to, from);
  ++core.counters().copies;
  core.counters().bytes[call.direction] += to.total_bytes();
  Transfer(core, check, {call.name, where}, QueueOf(ends, call.form), call.async, to, from);
}

void Gather(const GatherCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  const Check check(core, call.name, where);
  check.Exists(kFrom592);
  const Ends ends = EndsOf(core, check, call.direction);
  if (core.is_memory_core()) return;
  if (call.size == 0 || call.count == 0 || call.count > 65535)
    check.Fail("transfer_size must be positive and transfer_num in [1, 65535], got %zu and %u",
               call.size, call.count);
  const Queue queue = QueueOf(ends, Form::k2D);
  if (!call.async) core.Drain();
  OnChipMemory& nram = *core.memory(Space::kNram);
  const auto read = [&](const char* role, const void* data, size_t bytes) {
    check.Inside(role, data, bytes, Space::kNram);
    check.Ordered(role, RangeOf(data, bytes), queue, false);
    check.Written(role, nram, data, bytes);
  };
  read("offset", call.offsets, size_t{call.count} * call.offset_width);
  if (call.mask != nullptr) read("mask", call.mask, (call.count + 7) / 8);
  Side to("dst", call.dst, ends.to, call.size);
  Side from("src", call.src, ends.from, call.size);
  for (unsigned k = 0; k < call.count; ++k) {
    const auto* const bits = static_cast<const uint8_t*>(call.mask);
    if (bits != nullptr && (bits[k / 8] >> k % 8 & 1) == 0) continue;
    uint32_t offset = 0;
    std::memcpy(&offset, static_cast<const char*>(call.offsets) + k * call.offset_width,
                call.offset_width);
    (call.scatter ? to : from).Add(int64_t{offset});
    (call.scatter ? from : to).Add(int64_t{k} * call.stride);
  }
  if (to.count() == 0) return;
  ++core.counters().copies;
  core.counters().bytes[call.direction] += to.total_bytes();
  Transfer(core, check, {call.name, where}, queue, call.async, to, from);
}

void Fill(const FillCall& call, Where where) {
  Core& core = CoreOf(call.name, where);
  core.CheckAborted();
  if (core.is_memory_core() != (call.space == Space::kSram)) return;
  const Check check(core, call.name, where);
  const size_t bytes = call.count * call.width;
  if (call.count == 0) check.Fail("the count must be positive, got %d", 0);
  if (call.to.inner == 0 || call.to.inner > kMostSegments || call.to.outer == 0 ||
      call.to.outer > kMostSegments)
    check.Fail("segnum must be at most 65535, got %u and %u", call.to.inner - 1, call.to.outer - 1);
  if (call.form != Form::k1D) check.Exists(kFrom322);
  CheckStride(check, "stride0", call.to.stride0, call.to.inner, bytes);
  CheckStride(check, "stride1", call.to.stride1, call.to.outer, bytes);
  Side to("dst", call.dst, call.space, bytes);
  to.Add(call.to);
  check.Alignment("dst", call.dst, bytes, call.rule);
  const bool waits = !call.async && call.queue != Queue::kCompute;
  if (waits) core.Drain();
  to.CheckAccess(check, call.queue, Access::kWrite);
  to.AddPending(core, call.queue, {call.name, where}, true);
  if (call.space == Space::kGdram) core.counters().gdram_filled += to.total_bytes();
  core.CountVector(Kind::kFill, call.count * to.count());
  std::vector<char> pattern(bytes);
  for (size_t i = 0; i < call.count; ++i)
    std::memcpy(pattern.data() + i * call.width, call.value, call.width);
  Dispatch(core, call.queue, call.async, [&core, to, pattern] {
    OnChipMemory* const memory = core.memory(to.space());
    for (size_t k = 0; k < to.count(); ++k) {
      std::memcpy(to.segment(k), pattern.data(), pattern.size());
      if (memory != nullptr) std::memset(memory->StateOf(to.segment(k)), 1, pattern.size());
    }
  });
}

}  // namespace bang
