// SPDX-License-Identifier: Apache-2.0
// Copies, gathers and fills.
#include "bang/copy.h"

#include <cstdlib>
#include <cstring>

#include "mlu/settings.h"
#include "mlu/transfer.h"

namespace bang {
namespace {

constexpr uint32_t kMostSegments = 65536;

struct Spaces {
  Space from, to;
  bool Uses(Space space) const { return from == space || to == space; }
};

#define BANG_SPACES(direction, from, to) {Space::k##from, Space::k##to},
constexpr Spaces kSpaces[] = {BANG_DIRECTIONS(BANG_SPACES)};
#undef BANG_SPACES
static_assert(std::size(kSpaces) == kDirections);

bool IsOffChip(Space space) { return space == Space::kGdram || space == Space::kLdram; }

// The memory core executes copies between SRAM and off-chip memory or SRAM.
bool IsMemoryCoreCopy(const Spaces& spaces) {
  return (spaces.from == Space::kSram && (IsOffChip(spaces.to) || spaces.to == Space::kSram)) ||
         (spaces.to == Space::kSram && IsOffChip(spaces.from));
}

Queue QueueOf(const Spaces& spaces, Form form) {
  if (IsOffChip(spaces.from) || IsOffChip(spaces.to)) return Queue::kIo;
  const bool is_nram = spaces.from == Space::kNram && spaces.to == Space::kNram;
  return is_nram && form == Form::k1D ? Queue::kCompute : Queue::kMove;
}

// Returns the spaces of a direction; fails where it does not exist.
Spaces SpacesOf(const Check& check, mluMemcpyDirection_t direction) {
  if (direction < 0 || direction >= kDirections)
    check.Fail("dir must be a direction, got %d", static_cast<int>(direction));
  const Spaces spaces = kSpaces[direction];
  if (spaces.Uses(Space::kSram) && check.core().is_block())
    check.Fail("%s must not be used in a Block task, which has no SRAM", DirectionName(direction));
  return spaces;
}

void CheckStride(const Check& check, const char* name, int64_t stride, uint32_t segments,
                 uint64_t least) {
  if (segments > 1 && static_cast<uint64_t>(std::llabs(stride)) < least)
    check.Fail("%s must be at least the size of %zu bytes, got %lld", name, size_t{least},
               static_cast<long long>(stride));
}

void CheckSegments(const Check& check, const End& end) {
  if (end.size == 0) check.Fail("size must be positive, got %d", 0);
  if (end.segments.form == Form::k3D) check.Exists(kFrom322);
  for (const uint32_t segments : {end.segments.inner, end.segments.outer}) {
    if (segments == 0 || segments > kMostSegments)
      check.Fail("segnum must be at most 65535, got %u", segments - 1);
  }
}

void CheckShape(const Check& check, const End& to, const End& from) {
  CheckSegments(check, to);
  CheckSegments(check, from);
  const Segments& target = to.segments;
  if (target.count() != from.segments.count())
    check.Fail("dst and src must have as many segments, got %zu and %zu", target.count(),
               from.segments.count());
  CheckStride(check, target.form == Form::k3D ? "dst_stride0" : "dst_stride", target.stride0,
              target.inner, to.size);
  CheckStride(check, "dst_stride1", target.stride1, target.outer, to.size);
}

// WRAM: addresses and strides in multiples of 8 bytes, 1D sizes in multiples of 16 (2xx: 64).
void CheckWram(const Check& check, const char* role, const End& end) {
  const Segments& s = end.segments;
  if (reinterpret_cast<uintptr_t>(end.data) % 8 != 0 || s.stride0 % 8 != 0 || s.stride1 % 8 != 0)
    check.Fail("%s in WRAM must have an address and strides in multiples of 8 bytes", role);
  const size_t step = Is2xx() ? 64 : 16;
  if (s.form == Form::k1D && end.size % step != 0)
    check.Fail("size to or from WRAM must be a multiple of %zu bytes, got %zu", step, end.size);
}

// The rules of copies inside NRAM: of 1D copies on 2xx, and of the strided forms of __bang_move.
void CheckNram(const Check& check, const CopyCall& call, const End& to, const End& from) {
  if (call.is_move) {
    if (to.segments.form == Form::k3D) check.Exists(kFrom322Not372);
    if (Architecture() <= 372 && to.size % 128 != 0)
      check.Fail("size must be a multiple of 128 bytes on 2xx and 372, got %zu", to.size);
  } else if (to.segments.form == Form::k1D) {
    check.Alignment("dst", to.data, to.size, k2xx);
    check.Alignment("src", from.data, from.size, k2xx);
  }
}

void CheckOverlap(const Check& check, const Side& to, const Side& from) {
  if (!to.bounds().Overlaps(from.bounds())) return;
  IntervalMap sources;
  from.ForEachRange([&](const Range& range) { sources.Insert(range, {"", Where()}); });
  to.ForEachRange([&](const Range& range) {
    if (sources.Find(range) != nullptr) check.Disjoint("src", range, from.bounds());
  });
}

// Returns the address in the SRAM of another cluster that corresponds to `data` in the own one.
End InCluster(const Check& check, const CopyCall& call, const End& end) {
  check.Exists({0, {520, 592}});
  if (call.direction != SRAM2SRAM || call.async)
    check.Fail("id_dst_cluster is for a synchronous copy with SRAM2SRAM, got %s",
               DirectionName(call.direction));
  if (call.cluster >= check.core().clusters())
    check.Fail("id_dst_cluster must be less than clusterDim = %u, got %u", check.core().clusters(),
               call.cluster);
  const auto* const own = check.core().memory(Space::kSram)->Find(end.data);
  if (own == nullptr) check.Fail("dst must be in a variable in SRAM, got %p", end.data);
  OnChipMemory& sram = check.core().sram(call.cluster);
  char* const other = sram.Declare(own->key, own->name, own->bytes, own->where);
  return {other + (static_cast<const char*>(end.data) - own->begin), end.size, end.segments};
}

// The last steps of a copy or gather, whose segments are in `to` and `from`.
void Transfer(const Check& check, Queue queue, bool async, const Side& to, const Side& from) {
  Core& core = check.core();
  if (!async && queue != Queue::kCompute) core.Drain();
  from.Use(check, queue, Access::kRead);
  to.Use(check, queue, Access::kWrite);
  // Strict mode: scalar code must not change the source before the copy has happened.
  const bool watch =
      GetSettings().strict && async && core.is_idle(queue) && from.memory() != nullptr;
  const uint64_t fingerprint = watch ? from.Fingerprint() : 0;
  Dispatch(core, queue, async, [check, to, from, watch, fingerprint] {
    if (watch && from.Fingerprint() != fingerprint)
      check.Fail("%s was changed before the copy was synchronized", "src");
    for (size_t k = 0; k < to.count(); ++k) CopySegment(check, to, from, k);
  });
}

}  // namespace

void Copy(const CopyCall& call, const End& to_end, const End& from_end, Where where) {
  const Check check(call.name, where);
  Core& core = check.core();
  const Spaces spaces = SpacesOf(check, call.direction);
  if (IsMemoryCoreCopy(spaces) != core.is_memory_core()) return;
  CheckShape(check, to_end, from_end);
  if (spaces.to == Space::kWram) CheckWram(check, "dst", to_end);
  if (spaces.from == Space::kWram) CheckWram(check, "src", from_end);
  if (call.direction == NRAM2NRAM) CheckNram(check, call, to_end, from_end);
  const bool is_remote = call.cluster != kOwnCluster;
  const End target = is_remote ? InCluster(check, call, to_end) : to_end;  // checks the cluster
  const Side to("dst", target, is_remote ? &core.sram(call.cluster) : core.memory(spaces.to));
  const Side from("src", from_end, core.memory(spaces.from));
  CheckOverlap(check, to, from);
  if (call.is_move) {
    core.CountVector(kLayout, to.total_bytes());
  } else {
    core.CountCopy(call.direction, to.total_bytes());
  }
  const Queue queue = call.is_move ? Queue::kCompute : QueueOf(spaces, to_end.segments.form);
  Transfer(check, queue, call.async, to, from);
}

void ConvertSegments(const Instruction& instruction, const End& to_end, const End& from_end,
                     unsigned n, void (*one)(void* to, const void* from), Where where) {
  const Check check(instruction.name, where);
  Core& core = check.core();
  if (core.is_memory_core()) return;
  check.Exists(instruction.gate);
  CheckShape(check, to_end, from_end);
  OnChipMemory* const nram = core.memory(Space::kNram);
  const Side to("dst", to_end, nram), from("src", from_end, nram);
  check.Alignment("dst", to_end.data, to_end.size, instruction.rule);
  check.Alignment("src", from_end.data, from_end.size, instruction.rule);
  CheckOverlap(check, to, from);
  from.Use(check, Queue::kMove, Access::kRead);
  to.Use(check, Queue::kMove, Access::kWrite);
  core.CountVector(instruction.kind, size_t{n} * to.count());
  for (size_t k = 0; k < to.count(); ++k) {
    check.Written("src", *nram, from.segment(k), from_end.size);
    for (size_t i = 0; i < n; ++i)
      one(to.segment(k) + i * (to_end.size / n), from.segment(k) + i * (from_end.size / n));
    std::memset(nram->StateOf(to.segment(k)), 1, to_end.size);
  }
}

mluMemcpyDirection_t DirectionOf(const char* name, const void* dst, const void* src, Where where) {
  const Check check(name, where);
  for (int i = 0; i < kDirections; ++i) {
    if (kSpaces[i].from == SpaceOf(src) && kSpaces[i].to == SpaceOf(dst))
      return static_cast<mluMemcpyDirection_t>(i);
  }
  check.Fail("there is no direction from %s to %s", SpaceName(SpaceOf(src)),
             SpaceName(SpaceOf(dst)));
}

void Gather(const GatherCall& call, mluMemcpyDirection_t direction, Where where) {
  const Check check(call.name, where);
  Core& core = check.core();
  check.Exists(kFrom592);
  const Spaces spaces = SpacesOf(check, direction);
  if (core.is_memory_core()) return;
  if (call.size == 0 || call.count == 0 || call.count > 65535)
    check.Fail("transfer_size must be positive and transfer_num in [1, 65535], got %zu and %u",
               call.size, call.count);
  const Queue queue = QueueOf(spaces, Form::k2D);
  if (!call.async) core.Drain();
  OnChipMemory* const nram = core.memory(Space::kNram);
  const auto read = [&](const char* role, const void* data, size_t bytes) {
    check.Inside(role, data, bytes, nram);
    check.Ordered(role, RangeOf(data, bytes), queue, false);
    check.Written(role, *nram, data, bytes);
  };
  read("offset", call.offsets, size_t{call.count} * call.offset_width);
  if (call.mask != nullptr) read("mask", call.mask, (call.count + 7) / 8);
  std::vector<int64_t> gathered, regular;
  for (unsigned k = 0; k < call.count; ++k) {
    const auto* const bits = static_cast<const uint8_t*>(call.mask);
    if (bits != nullptr && (bits[k / 8] >> k % 8 & 1) == 0) continue;
    uint32_t offset = 0;
    std::memcpy(&offset, static_cast<const char*>(call.offsets) + k * call.offset_width,
                call.offset_width);
    gathered.push_back(offset);
    regular.push_back(int64_t{k} * call.stride);
  }
  if (gathered.empty()) return;
  if (call.scatter) std::swap(gathered, regular);
  const Side to("dst", {call.dst, call.size}, core.memory(spaces.to), regular);
  const Side from("src", {call.src, call.size}, core.memory(spaces.from), gathered);
  core.CountCopy(direction, to.total_bytes());
  Transfer(check, queue, call.async, to, from);
}

void Fill(const FillCall& call, void* dst, size_t count, const void* value, unsigned width,
          const Segments& segments, Where where) {
  const Check check(call.name, where);
  Core& core = check.core();
  if (core.is_memory_core() != (call.space == Space::kSram)) return;
  const End end = {dst, count * width, segments};
  if (count == 0) check.Fail("the count must be positive, got %d", 0);
  if (segments.form != Form::k1D) check.Exists(kFrom322);
  CheckSegments(check, end);
  CheckStride(check, "stride0", segments.stride0, segments.inner, end.size);
  CheckStride(check, "stride1", segments.stride1, segments.outer,
              static_cast<uint64_t>(segments.stride0) * segments.inner);
  check.Alignment("dst", dst, end.size, call.rule);
  const Side to("dst", end, core.memory(call.space));
  if (!call.async && call.queue != Queue::kCompute) core.Drain();
  to.Use(check, call.queue, Access::kWrite);
  if (call.space == Space::kGdram) core.counters().gdram_filled += to.total_bytes();
  core.CountVector(kFill, count * to.count());
  std::vector<char> pattern(end.size);
  for (size_t i = 0; i < count; ++i) std::memcpy(pattern.data() + i * width, value, width);
  Dispatch(core, call.queue, call.async, [to, pattern] {
    for (size_t k = 0; k < to.count(); ++k) {
      std::memcpy(to.segment(k), pattern.data(), pattern.size());
      if (to.memory() != nullptr)
        std::memset(to.memory()->StateOf(to.segment(k)), 1, pattern.size());
    }
  });
}

}  // namespace bang
