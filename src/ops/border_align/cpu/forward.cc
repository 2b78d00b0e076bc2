// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: the samples of a batch of edges are worked out once, then
// vectors of channels run through them with their maxima and indices in registers.
#include <algorithm>

#include "core/dtype.h"
#include "cpu/scratch.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#ifndef MLUOP_BORDER_ALIGN_FORWARD_CALL_
#define MLUOP_BORDER_ALIGN_FORWARD_CALL_
namespace mluop::border_align {

template <typename T>
struct ForwardCall {
  Problem p;
  const T* input;   // [N, H, W, 4*C]
  const T* boxes;   // [N, K, 4]
  T* output;        // [N, K, 4, C]
  int32_t* argmax;  // [N, K, 4, C]
  Slices slices;
  bool packed;           // slices are copied before they are read
  const int32_t* order;  // of the boxes
  bool stream;  // the outputs pass by the caches; every vector of them is whole and aligned

  int64_t batches() const { return (int64_t{p.k} + kBatch - 1) / kBatch; }
};

// A worker's own memory.
struct ForwardScratch {
  float* map;   // [H, W, slice], where slices are packed
  float* best;  // [kBatch, slice], where a table does not hold all samples of an edge
};

}  // namespace mluop::border_align
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu/forward.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/cpu/pool-inl.h"
#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

// An owner's slice of the map: strips of channels, `strip_stride` elements apart.
template <typename In>
struct Map {
  const In* data;
  int64_t strip_stride;
};

// The boxes from place `first` on.
template <typename In, typename T>
void PoolBatch(const ForwardCall<T>& call, const Owner& owner, SampleTable& table, Map<In> map,
               int64_t first, float* best) {
  const Problem& p = call.p;
  const Batch batch = MakeBatch(p, call.order, owner, first);
  table.Start(call.boxes + owner.image * p.k * 4, batch);
  const int strip = call.slices.strip;
  do {
    for (int c = 0; c < owner.channels; c += strip) {
      const In* from = map.data + c / strip * map.strip_stride;
      for (int edge = 0; edge < batch.count; ++edge) {
        const int64_t at = RowOffset(p, owner, batch.box[edge]) + c;
        const Row<In, T> row = {from, call.output + at, call.argmax + at,
                                best + int64_t{edge} * call.slices.size + c, call.stream};
        PoolRow(std::min(strip, owner.channels - c), table, edge, row);
      }
    }
  } while (table.Advance());
}

template <typename T>
HWY_INLINE void Pack(const ForwardCall<T>& call, const Owner& owner, float* HWY_RESTRICT to) {
  const T* from = call.input + MapOffset(call.p, owner);
  const int strip = call.slices.strip;
  const int64_t strip_stride = call.p.pixels() * strip;
  for (int64_t pixel = 0; pixel < call.p.pixels(); ++pixel) {
    for (int c = 0; c < owner.channels; c += strip) {
      const T* row = from + c;
      float* packed = to + c / strip * strip_stride;
      ForEach<float>(std::min(strip, owner.channels - c),
                     [&](auto d, int64_t i) { hn::StoreU(LoadFloats(d, row + i), d, packed + i); });
    }
    from += call.p.channels();
    to += strip;
  }
}

// Items [begin, end) of [owners, batches of K].
template <typename T>
HWY_INLINE void PoolItems(const ForwardCall<T>& call, const ForwardScratch& scratch, int64_t begin,
                          int64_t end) {
  const Problem& p = call.p;
  const int64_t batches = call.batches();
  for (int64_t item = begin; item < end;) {
    const Owner owner = MakeOwner(p, call.slices, item / batches);
    const int64_t next = std::min(end, (item / batches + 1) * batches);
    if (call.packed) Pack(call, owner, scratch.map);
    const int strip = call.slices.strip;
    SampleTable table(p, owner.border, call.packed ? strip : p.channels());
    for (; item < next; ++item) {
      const int64_t first = item % batches * kBatch;
      if (call.packed) {
        const Map<float> map = {scratch.map, p.pixels() * strip};
        PoolBatch(call, owner, table, map, first, scratch.best);
      } else {
        const Map<T> map = {call.input + MapOffset(p, owner), strip};
        PoolBatch(call, owner, table, map, first, scratch.best);
      }
    }
  }
  if (call.stream) hwy::FlushStream();
}

void ForwardFloat(const ForwardCall<float>& call, const ForwardScratch& scratch, int64_t begin,
                  int64_t end) {
  PoolItems(call, scratch, begin, end);
}
void ForwardHalf(const ForwardCall<Half>& call, const ForwardScratch& scratch, int64_t begin,
                 int64_t end) {
  PoolItems(call, scratch, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(ForwardFloat);
HWY_EXPORT(ForwardHalf);

// Whether the outputs are large, and whole vectors of any instruction set lie aligned in them.
// 0.85 of the time with one thread on [2, 25, 38, 1024], hot.
template <typename T>
bool StreamPays(const Problem& p, const Slices& slices, const Arguments& a) {
  constexpr int kLanes = 16;
  const auto aligned = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
  };
  const auto count = static_cast<size_t>(int64_t{p.n} * p.k * p.channels());
  return count * (sizeof(T) + sizeof(int32_t)) >= kStreamBytes && p.c % kLanes == 0 &&
         slices.strip % kLanes == 0 && aligned(a.Out<void>("output")) &&
         aligned(a.Out<void>("argmax_idx"));
}

template <typename T, class Function>
mluOpStatus_t Forward(const Arguments& a, CpuContext& context, Function kernel) {
  const Problem p = MakeProblem(a);
  ThreadPool& threads = context.threads();
  const bool packed = !FewSamples(p) && !IsHuge(p);
  const Slices slices =
      packed ? ChooseSlices(p, threads.num_threads()) : MakeSlices(p, kUnpacked, kUnpacked);
  const int64_t map = packed ? WholeLines(p.pixels() * slices.size) : 0;
  const int64_t size = map + WholeLines(int64_t{kBatch} * slices.size);
  auto* scratch = static_cast<float*>(context.Scratch(
      static_cast<size_t>(OrderSize(p) + size * threads.num_threads()) * sizeof(float)));
  float* own = scratch + OrderSize(p);
  const ForwardCall<T> call = {p,
                               a.In<T>("input"),
                               a.In<T>("boxes"),
                               a.Out<T>("output"),
                               a.Out<int32_t>("argmax_idx"),
                               slices,
                               packed,
                               SortAll(p, a.In<T>("boxes"), scratch, threads),
                               StreamPays<T>(p, slices, a)};
  const int64_t work = std::min(kRangeSamples, p.samples()) * std::min(p.k, kBatch) * slices.size;
  threads.For(slices.count * p.n * kBorders * call.batches(),
              std::max(kRangeSamples, 2 * map) / work + 1,
              [&](int64_t begin, int64_t end, int worker) {
                float* memory = own + worker * size;
                kernel(call, {memory, memory + map}, begin, end);
              });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, CpuContext& context) {
  if (arguments.Type() == MLUOP_DTYPE_HALF) {
    return Forward<Half>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardHalf));
  }
  return Forward<float>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardFloat));
}

}  // namespace mluop::border_align
#endif  // HWY_ONCE
