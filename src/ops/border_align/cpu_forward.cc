// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: the samples of a batch of edges are worked out once, then
// vectors of channels run through them with their maxima and indices in registers.
#include <algorithm>

#include "core/dtype.h"
#include "ops/border_align/cpu.h"
#include "ops/border_align/slices.h"

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
  bool packed;  // slices are copied before they are read

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
#define HWY_TARGET_INCLUDE "ops/border_align/cpu_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::LoadFloats;
using mluop::HWY_NAMESPACE::StoreFloats;

// The sample's value in the channels from `from` on.
template <class D, typename In>
HWY_INLINE hn::Vec<D> Interpolate(D d, const Sample& s, const In* HWY_RESTRICT from) {
  if (!s.inside) return hn::Zero(d);
  auto value = hn::Mul(hn::Set(d, s.weight[0]), LoadFloats(d, from + s.offset[0]));
  value = hn::MulAdd(hn::Set(d, s.weight[1]), LoadFloats(d, from + s.offset[1]), value);
  value = hn::MulAdd(hn::Set(d, s.weight[2]), LoadFloats(d, from + s.offset[2]), value);
  return hn::MulAdd(hn::Set(d, s.weight[3]), LoadFloats(d, from + s.offset[3]), value);
}

// A NaN never replaces what is there: it is not greater.
template <class V, class VI>
HWY_INLINE void Compete(V value, VI sample, V& best, VI& index) {
  const auto greater = hn::Gt(value, best);
  best = hn::IfThenElse(greater, value, best);
  index = hn::IfThenElse(hn::RebindMask(hn::DFromV<VI>(), greater), sample, index);
}

// Where the channels of an edge come from and go to.
template <typename In, typename T>
struct Row {
  const In* from;
  T* output;
  int32_t* argmax;
  float* best;  // between two windows of samples

  HWY_INLINE Row At(int64_t c) const { return {from + c, output + c, argmax + c, best + c}; }
};

// What is known before the table's window: the first sample's value, or what earlier windows left.
template <class D, typename In, typename T>
HWY_INLINE hn::Vec<D> StartBest(D d, const SampleTable& table, const Sample& first,
                                const Row<In, T>& row) {
  return table.begin() == 0 ? Interpolate(d, first, row.from) : hn::LoadU(d, row.best);
}
template <class DI, typename In, typename T>
HWY_INLINE hn::Vec<DI> StartIndex(DI di, const SampleTable& table, const Row<In, T>& row) {
  return table.begin() == 0 ? hn::Zero(di) : hn::LoadU(di, row.argmax);
}
template <class D, class VI, typename In, typename T>
HWY_INLINE void Finish(D d, const SampleTable& table, hn::Vec<D> best, VI index,
                       const Row<In, T>& row) {
  if (table.last()) {
    StoreFloats(best, d, row.output);
  } else {
    hn::StoreU(best, d, row.best);
  }
  hn::StoreU(index, hn::DFromV<VI>(), row.argmax);
}

// Four vectors of channels: a sample's weights and offsets are loaded once for all, and maxima and
// indices still fit the 16 registers of AVX2. Named one by one because vectors of scalable
// length make no arrays.
template <class D, typename In, typename T>
HWY_INLINE void PoolFour(D d, const SampleTable& table, int edge, const Row<In, T>& row0) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Row<In, T> row1 = row0.At(lanes);
  const Row<In, T> row2 = row1.At(lanes);
  const Row<In, T> row3 = row2.At(lanes);
  const Sample first = table.Get(edge, 0);
  auto best0 = StartBest(d, table, first, row0);
  auto best1 = StartBest(d, table, first, row1);
  auto best2 = StartBest(d, table, first, row2);
  auto best3 = StartBest(d, table, first, row3);
  auto index0 = StartIndex(di, table, row0);
  auto index1 = StartIndex(di, table, row1);
  auto index2 = StartIndex(di, table, row2);
  auto index3 = StartIndex(di, table, row3);
  for (int i = table.begin() == 0 ? 1 : 0; i < table.count(); ++i) {
    const Sample s = table.Get(edge, i);
    const auto sample = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    Compete(Interpolate(d, s, row0.from), sample, best0, index0);
    Compete(Interpolate(d, s, row1.from), sample, best1, index1);
    Compete(Interpolate(d, s, row2.from), sample, best2, index2);
    Compete(Interpolate(d, s, row3.from), sample, best3, index3);
  }
  Finish(d, table, best0, index0, row0);
  Finish(d, table, best1, index1, row1);
  Finish(d, table, best2, index2, row2);
  Finish(d, table, best3, index3, row3);
}

template <class D, typename In, typename T>
HWY_INLINE void PoolOne(D d, const SampleTable& table, int edge, const Row<In, T>& row) {
  const hn::RebindToSigned<D> di;
  auto best = StartBest(d, table, table.Get(edge, 0), row);
  auto index = StartIndex(di, table, row);
  for (int i = table.begin() == 0 ? 1 : 0; i < table.count(); ++i) {
    const auto sample = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    Compete(Interpolate(d, table.Get(edge, i), row.from), sample, best, index);
  }
  Finish(d, table, best, index, row);
}

// Channels from `c` on to the end of a row of `channels`. The last vector is whole too and lies
// over the one before: a channel may compete twice with the same samples. Rows shorter than a
// vector take vectors of a quarter.
template <class D, typename In, typename T>
void PoolEnd(D d, int64_t c, int64_t channels, const SampleTable& table, int edge,
             const Row<In, T>& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (channels < lanes) {
      return PoolEnd(hn::Half<hn::Half<D>>(), c, channels, table, edge, row);
    }
  }
  for (; c < channels; c += lanes) PoolOne(d, table, edge, row.At(std::min(c, channels - lanes)));
}

template <typename In, typename T>
void PoolRow(int64_t channels, const SampleTable& table, int edge, const Row<In, T>& row) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) PoolFour(d, table, edge, row.At(c));
  if (c < channels) PoolEnd(d, c, channels, table, edge, row);
}

// `count` boxes from `box` on. from: pixel (0, 0) of the owner's slice.
template <typename In, typename T>
void PoolBatch(const ForwardCall<T>& call, const Owner& owner, SampleTable& table, const In* from,
               int64_t box, float* best) {
  const Problem& p = call.p;
  const auto count = static_cast<int>(std::min<int64_t>(kBatch, p.k - box));
  table.Start(call.boxes + (owner.image * p.k + box) * 4, count);
  do {
    for (int edge = 0; edge < count; ++edge) {
      const int64_t at = RowOffset(p, owner, box + edge);
      const Row<In, T> row = {from, call.output + at, call.argmax + at,
                              best + int64_t{edge} * call.slices.size};
      PoolRow(owner.channels, table, edge, row);
    }
  } while (table.Advance());
}

template <typename T>
HWY_INLINE void Pack(const ForwardCall<T>& call, const Owner& owner, float* HWY_RESTRICT to) {
  const T* from = call.input + MapOffset(call.p, owner);
  for (int64_t pixel = 0; pixel < call.p.pixels(); ++pixel) {
    ForEach<float>(owner.channels,
                   [&](auto d, int64_t c) { hn::StoreU(LoadFloats(d, from + c), d, to + c); });
    from += call.p.channels();
    to += call.slices.size;
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
    SampleTable table(p, owner.border, call.packed ? call.slices.size : p.channels());
    for (; item < next; ++item) {
      const int64_t box = item % batches * kBatch;
      if (call.packed) {
        PoolBatch(call, owner, table, scratch.map, box, scratch.best);
      } else {
        PoolBatch(call, owner, table, call.input + MapOffset(p, owner), box, scratch.best);
      }
    }
  }
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

// Samples of a channel that are worth a range of their own: some microseconds.
constexpr int64_t kRangeSamples = 65536;

// Channels that read the map itself at once.
constexpr int kUnpacked = 1024;

template <typename T, class Function>
mluOpStatus_t Forward(const Arguments& a, Context& context, Function kernel) {
  const Problem p = MakeProblem(a);
  ThreadPool& threads = context.threads();
  const bool packed = !FewSamples(p);
  const Slices slices = packed ? ChooseSlices(p, threads.num_threads()) : MakeSlices(p, kUnpacked);
  const ForwardCall<T> call = {p,
                               a.In<T>("input"),
                               a.In<T>("boxes"),
                               a.Out<T>("output"),
                               a.Out<int32_t>("argmax_idx"),
                               slices,
                               packed};
  const int64_t map = packed ? WholeLines(p.pixels() * slices.size) : 0;
  const int64_t size = map + WholeLines(int64_t{kBatch} * slices.size);
  auto* scratch = static_cast<float*>(
      context.Scratch(static_cast<size_t>(size * threads.num_threads()) * sizeof(float)));
  const int64_t work = std::min(kRangeSamples, p.samples()) * std::min(p.k, kBatch) * slices.size;
  threads.For(slices.count * p.n * kBorders * call.batches(),
              std::max(kRangeSamples, 2 * map) / work + 1,
              [&](int64_t begin, int64_t end, int worker) {
                float* own = scratch + worker * size;
                kernel(call, {own, own + map}, begin, end);
              });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_HALF) {
    return Forward<Half>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardHalf));
  }
  return Forward<float>(arguments, context, HWY_DYNAMIC_DISPATCH(ForwardFloat));
}

}  // namespace mluop::border_align
#endif  // HWY_ONCE
