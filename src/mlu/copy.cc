// SPDX-License-Identifier: Apache-2.0
// Copies, gathers, fills and atomics.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "bang/atomic.h"
#include "mlu/check.h"
#include "mlu/job.h"

namespace bang {
namespace {

constexpr uint32_t kMostSegments = 65536;

struct Spaces {
  Space from, to;
  bool Uses(Space space) const { return from == space || to == space; }
  bool AreOffChip() const { return Uses(kGdram) || Uses(kLdram); }
  // The memory core executes copies between SRAM and off-chip memory or SRAM.
  bool AreOfMemoryCore() const { return Uses(kSram) && (from == to || AreOffChip()); }
};

#define BANG_SPACES(direction, from, to) {k##from, k##to},
constexpr Spaces kSpaces[] = {BANG_DIRECTIONS(BANG_SPACES)};
static_assert(std::size(kSpaces) == kDirections);

Queue QueueOf(const Spaces& spaces, Form form) {
  if (spaces.AreOffChip()) return kIo;
  const bool is_nram = spaces.from == kNram && spaces.to == kNram;
  return is_nram && form == Form::k1D ? kCompute : kMove;
}

// Returns the spaces of a direction; fails where it does not exist.
Spaces SpacesOf(const Check& check, mluMemcpyDirection_t direction) {
  if (direction < 0 || direction >= kDirections)
    check.Fail("dir must be a direction, got %d", static_cast<int>(direction));
  const Spaces spaces = kSpaces[direction];
  if (spaces.Uses(kSram) && check.core.is_block())
    check.Fail("%s must not be used in a Block task, which has no SRAM",
               kDirectionNames[direction]);
  return spaces;
}

mluMemcpyDirection_t DirectionOf(const Check& check, const void* src, const void* dst) {
  const Space from = check.core.SpaceOf(src), to = check.core.SpaceOf(dst);
  for (int i = 0; i < kDirections; ++i) {
    if (kSpaces[i].from == from && kSpaces[i].to == to) return static_cast<mluMemcpyDirection_t>(i);
  }
  check.Fail("there is no direction from %s to %s", kSpaceNames[from], kSpaceNames[to]);
}

// A stride between segments that are written. Copies in 3D use 0 for a stride without segments;
// kernels pass any value in 2D.
void CheckStride(const Check& check, const char* name, Form form, int64_t stride, uint32_t segments,
                 uint64_t least) {
  if (segments == 1 && (form != Form::k3D || stride == 0)) return;
  if (static_cast<uint64_t>(std::llabs(stride)) < least)
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
  const Segments& s = to.segments;
  if (s.count() != from.segments.count())
    check.Fail("dst and src must have as many segments, got %zu and %zu", s.count(),
               from.segments.count());
  const char* const name0 = s.form == Form::k3D ? "dst_stride0" : "dst_stride";
  CheckStride(check, name0, s.form, s.stride0, s.inner, to.size);
  CheckStride(check, "dst_stride1", s.form, s.stride1, s.outer, to.size);
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

// The strided forms of __bang_move.
void CheckMove(const Check& check, const End& to) {
  if (to.segments.form == Form::k3D) check.Exists(kFrom322Not372);
  if (Architecture() <= 372 && to.size % 128 != 0)
    check.Fail("size must be a multiple of 128 bytes on 2xx and 372, got %zu", to.size);
}

void CheckOverlap(const Check& check, const Side& to, const Side& from) {
  check.Inside(to);
  check.Inside(from);
  if (!to.bounds().Overlaps(from.bounds())) return;
  IntervalMap sources;
  for (const Range& range : from.Ranges()) sources.Insert(range, {"", Where()});
  for (const Range& range : to.Ranges()) {
    if (sources.Find(range) != nullptr) check.Disjoint("src", range, from.bounds());
  }
}

// Returns the segments in the SRAM of another cluster that correspond to segments in the own SRAM.
Side InCluster(const Check& check, const CopyCall& call, const End& end) {
  check.Exists({0, {520, 592}});
  if (call.direction != SRAM2SRAM)
    check.Fail("id_dst_cluster is for SRAM2SRAM, got %s", kDirectionNames[call.direction]);
  const auto other = std::ranges::find(check.core.job.cores, static_cast<int>(call.cluster),
                                       [](const Core& core) { return core.built_ins.cluster_id; });
  if (other == check.core.job.cores.end())
    check.Fail("id_dst_cluster must be less than clusterDim = %d, got %u",
               check.core.built_ins.cluster_dim, call.cluster);
  const Block* const own = check.core.sram().Find(end.data);
  if (own == nullptr) check.Fail("dst must be in a variable in SRAM, got %p", end.data);
  OnChipMemory& sram = other->sram();
  char* const begin = sram.Declare(own->key, own->name, own->bytes, own->where);
  const auto offset = static_cast<const char*>(end.data) - own->begin;
  return {"dst", Access::kWrite, &sram, {begin + offset, end.size, end.segments}};
}

// Copies segment k, and the state of on-chip bytes. A copy to GDRAM needs bytes that were written.
void CopySegment(const Check& check, const Side& to, const Side& from, size_t k) {
  const Range source = RangeOf(from.segments[k], from.size);
  const auto* const memory = from.on_chip();
  if (memory == nullptr || memory->FindUnwritten(source) == nullptr)
    return to.memory->Write(to.segments[k], source.begin, source.size());
  if (to.on_chip() == nullptr) return check.Written("src", *memory, source);
  uint8_t* const states = to.on_chip()->StateOf(to.segments[k]);
  std::memmove(to.segments[k], source.begin, source.size());
  std::memmove(states, memory->StateOf(source.begin), source.size());
  const uint8_t origin = check.core.launch.AddOrigin(check.issuer);
  std::replace(states, states + source.size(), kUnwritten, origin);
}

void CountCopy(Core& core, mluMemcpyDirection_t direction, const Side& to) {
  ++core.counters.copies;
  core.counters.bytes[direction] += to.total_bytes();
}

Timing TimingOf(Queue queue, bool async) {
  return !async ? Timing::kSync : queue == kCompute ? Timing::kVector : Timing::kAsync;
}

}  // namespace

void Copy(const CopyCall& call, const End& to_end, const End& from_end, Where where) {
  const Check check(call.name, where);
  Core& core = check.core;
  const Spaces spaces = SpacesOf(check, call.direction);
  const bool is_1d = to_end.segments.form == Form::k1D;
  if (spaces.AreOfMemoryCore() != core.is_memory_core()) return;
  CheckShape(check, to_end, from_end);
  if (spaces.to == kWram) CheckWram(check, "dst", to_end);
  if (spaces.from == kWram) CheckWram(check, "src", from_end);
  if (call.is_move && !is_1d) CheckMove(check, to_end);
  const Rule rule = call.direction == NRAM2NRAM && is_1d ? k2xx : kNoRule;
  const Side to = call.cluster != kOwnCluster
                      ? InCluster(check, call, to_end)
                      : Side("dst", Access::kWrite, core.memory(spaces.to), to_end, rule);
  const Side from("src", Access::kRead, core.memory(spaces.from), from_end, rule);
  // The forms of __bang_move that allow it: 1D, and any from 5xx on.
  if (!call.is_move || (!is_1d && Architecture() <= 372)) CheckOverlap(check, to, from);
  if (call.is_move)
    core.Count(kLayout, to.total_bytes());
  else
    CountCopy(core, call.direction, to);
  const Queue queue = call.is_move ? kCompute : QueueOf(spaces, to_end.segments.form);
  Transfer(check, queue, TimingOf(queue, call.async), {from, to},
           [=](size_t k) { CopySegment(check, to, from, k); });
}

void ConvertSegments(const Instruction& instruction, const End& to_end, const End& from_end,
                     unsigned n, void (*one)(void* to, const void* from), Where where) {
  const Check check(instruction.name, where, instruction.gate);
  OnChipMemory& nram = check.core.nram();
  if (check.core.is_memory_core()) return;
  CheckShape(check, to_end, from_end);
  const Side to("dst", Access::kWrite, &nram, to_end, instruction.rule);
  Side from("src", Access::kRead, &nram, from_end, instruction.rule);
  from.decides = true;
  CheckOverlap(check, to, from);
  check.core.Count(instruction.kind, size_t{n} * to.segments.size());
  Transfer(check, kMove, Timing::kVector, {from, to}, [&](size_t k) {
    for (size_t i = 0; i < n; ++i)
      one(to.segments[k] + i * (to.size / n), from.segments[k] + i * (from.size / n));
    std::memset(nram.StateOf(to.segments[k]), kWritten, to.size);
  });
}

void Gather(const GatherCall& call, const End& to_end, const End& from_end,
            const mluMemcpyDirection_t* given, Where where) {
  const Check check(call.name, where, kFrom592);
  Core& core = check.core;
  const auto direction = given != nullptr ? *given : DirectionOf(check, from_end.data, to_end.data);
  const Spaces spaces = SpacesOf(check, direction);
  if (core.is_memory_core()) return;
  const size_t count = call.offsets.count;
  if (to_end.size == 0 || count == 0 || count > 65535)
    check.Fail("transfer_size must be positive and transfer_num in [1, 65535], got %zu and %zu",
               to_end.size, count);
  const Queue queue = QueueOf(spaces, Form::k2D);
  if (!call.async) core.Drain();
  core.Flush(queue);  // earlier copies may write the offsets and the mask
  const bool has_mask = call.mask.data != nullptr;
  check.Use(Side(call.offsets, &core.nram()), queue);
  if (has_mask) check.Use(Side(call.mask, &core.nram()), queue);
  Side to("dst", Access::kWrite, core.memory(spaces.to), to_end);
  Side from("src", Access::kRead, core.memory(spaces.from), from_end);
  char* const dst = std::exchange(to.segments, {})[0];
  char* const src = std::exchange(from.segments, {})[0];
  for (unsigned k = 0; k < count; ++k) {
    if (has_mask && !BitAt(call.mask.data, k)) continue;
    uint32_t offset = 0;
    const unsigned width = call.offsets.width;
    std::memcpy(&offset, static_cast<const char*>(call.offsets.data) + k * width, width);
    const int64_t regular = int64_t{k} * call.stride;
    to.segments.push_back(dst + (call.scatter ? offset : regular));
    from.segments.push_back(src + (call.scatter ? regular : offset));
  }
  if (to.segments.empty()) return;
  CheckOverlap(check, to, from);
  CountCopy(core, direction, to);
  Transfer(check, queue, TimingOf(queue, call.async), {from, to},
           [=](size_t k) { CopySegment(check, to, from, k); });
}

void Fill(const FillCall& call, const End& end, const void* value, unsigned width, Where where) {
  const Check check(call.name, where);
  Core& core = check.core;
  const Segments& segments = end.segments;
  if (core.is_memory_core() != (call.space == kSram)) return;
  if (segments.form != Form::k1D) check.Exists(kFrom322);
  CheckSegments(check, end);
  CheckStride(check, "stride0", segments.form, segments.stride0, segments.inner, end.size);
  CheckStride(check, "stride1", segments.form, segments.stride1, segments.outer,
              static_cast<uint64_t>(segments.stride0) * segments.inner);
  const Side to("dst", Access::kWrite, core.memory(call.space), end, call.rule);
  if (call.space == kGdram) core.counters.bytes[kDirections] += to.total_bytes();
  core.Count(kFill, to.total_bytes() / width, call.queue);
  std::vector<char> pattern(end.size);
  for (size_t at = 0; at < end.size; at += width) std::memcpy(&pattern[at], value, width);
  Transfer(check, call.queue, TimingOf(call.queue, call.async), {to},
           [to, pattern](size_t k) { to.memory->Write(to.segments[k], pattern.data(), to.size); });
}

void Atomic(const AtomicCall& call, const End& gdram_end, const End& operands, void* old_data,
            Where where) {
  const Check check(call.name, where, call.gate);
  Core& core = check.core;
  if (core.is_memory_core()) return;
  if (gdram_end.size == 0) check.Fail("the count must be positive, got %d", 0);
  if (reinterpret_cast<uintptr_t>(gdram_end.data) % call.width != 0)
    check.Fail("the GDRAM address must be a multiple of %u, got %p", call.width, gdram_end.data);
  OnChipMemory& nram = core.nram();
  const bool is_value = operands.size == 0;
  const Side gdram("gdram", Access::kAtomic, &GetGdram(), gdram_end);
  const Side source("src", Access::kRead, &nram, operands);
  const Side old("old", Access::kWrite, &nram, {old_data, gdram_end.size});
  std::vector<Side> sides = {gdram};
  if (!is_value) sides.push_back(source);
  if (old_data != nullptr) sides.push_back(old);
  core.Count(kAtomic, gdram.total_bytes() / call.width, kIo);
  std::array<char, 8> value = {};  // two elements
  if (is_value) std::memcpy(value.data(), operands.data, 2 * call.width);
  const Timing timing = call.async ? Timing::kAsync : Timing::kSync;
  Transfer(check, kIo, timing, sides, [=, &nram](size_t k) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!is_value) check.Written("src", nram, RangeOf(source.segments[k], source.size));
    for (size_t at = 0; at < gdram.size; at += call.width) {
      std::array<char, 8> operand = value;
      if (!is_value) std::memcpy(operand.data(), source.segments[k] + at, call.width);
      if (old_data != nullptr)  // nram_old may be the operands
        nram.Write(old.segments[k] + at, gdram.segments[k] + at, call.width);
      call.combine(gdram.segments[k] + at, operand.data());
    }
  });
}

}  // namespace bang
