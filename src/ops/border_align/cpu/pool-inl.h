// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: the channels of one edge against its samples.
// Included once per instruction set.

#if defined(MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#undef MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#else
#define MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "cpu/simd-inl.h"
#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::StoreFloats;
using mluop::HWY_NAMESPACE::StreamFloats;

// The sample's value in the channels from `first` on.
template <class D, typename In>
HWY_INLINE hn::Vec<D> Interpolate(D d, const Sample& s, const Pixels<const In>& pixels,
                                  int64_t first) {
  if (!s.inside) return hn::Zero(d);
  auto value = hn::Mul(hn::Set(d, s.weight[0]), LoadFloats(d, pixels.at[0] + first));
  value = hn::MulAdd(hn::Set(d, s.weight[1]), LoadFloats(d, pixels.at[1] + first), value);
  value = hn::MulAdd(hn::Set(d, s.weight[2]), LoadFloats(d, pixels.at[2] + first), value);
  return hn::MulAdd(hn::Set(d, s.weight[3]), LoadFloats(d, pixels.at[3] + first), value);
}

// A NaN never replaces what is there: it is not greater.
template <class V, class VI>
HWY_INLINE void Compete(V value, VI sample, V& best, VI& index) {
  const auto greater = hn::Gt(value, best);
  const auto chosen = hn::RebindMask(hn::DFromV<VI>(), greater);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  // A blend is three operations here (0.87 of the time on AVX2). x86's Max gives its second operand
  // where one is NaN, and a later sample has the greater index.
  best = hn::Max(value, best);
  index = hn::Max(index, hn::IfThenElseZero(chosen, sample));
#else
  best = hn::IfThenElse(greater, value, best);
  index = hn::IfThenElse(chosen, sample, index);
#endif
}

// Where the channels of an edge come from and go to.
template <typename In, typename T>
struct Row {
  const In* from;
  T* output;
  int32_t* argmax;
  float* best;  // between two windows of samples
  bool stream;

  HWY_INLINE Row At(int64_t c) const {
    return {from + c, output + c, argmax + c, best + c, stream};
  }
};

// What is known before the table's window: the first sample's value, or what earlier windows left.
template <class D, typename In, typename T>
HWY_INLINE hn::Vec<D> StartBest(D d, const SampleTable& table, const Sample& first,
                                const Row<In, T>& row) {
  return table.begin() == 0 ? Interpolate(d, first, PixelsOf(first, row.from), 0)
                            : hn::LoadU(d, row.best);
}
template <class DI, typename In, typename T>
HWY_INLINE hn::Vec<DI> StartIndex(DI di, const SampleTable& table, const Row<In, T>& row) {
  return table.begin() == 0 ? hn::Zero(di) : hn::LoadU(di, row.argmax);
}

template <class D, class VI, typename In, typename T>
HWY_INLINE void Finish(D d, const SampleTable& table, hn::Vec<D> best, VI index,
                       const Row<In, T>& row) {
  const hn::DFromV<VI> di;
  if (!table.last()) {
    hn::StoreU(best, d, row.best);
    hn::StoreU(index, di, row.argmax);
  } else if (row.stream) {
    StreamFloats(best, d, row.output);
    hn::Stream(index, di, row.argmax);
  } else {
    StoreFloats(best, d, row.output);
    hn::StoreU(index, di, row.argmax);
  }
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
  const EdgeSamples samples = table.Edge(edge);
  const Sample first = samples.Get(0);
  auto best0 = StartBest(d, table, first, row0);
  auto best1 = StartBest(d, table, first, row1);
  auto best2 = StartBest(d, table, first, row2);
  auto best3 = StartBest(d, table, first, row3);
  auto index0 = StartIndex(di, table, row0);
  auto index1 = StartIndex(di, table, row1);
  auto index2 = StartIndex(di, table, row2);
  auto index3 = StartIndex(di, table, row3);
  for (int i = table.begin() == 0 ? 1 : 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    const Pixels<const In> pixels = PixelsOf(s, row0.from);
    const auto sample = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    Compete(Interpolate(d, s, pixels, 0), sample, best0, index0);
    Compete(Interpolate(d, s, pixels, lanes), sample, best1, index1);
    Compete(Interpolate(d, s, pixels, 2 * lanes), sample, best2, index2);
    Compete(Interpolate(d, s, pixels, 3 * lanes), sample, best3, index3);
  }
  Finish(d, table, best0, index0, row0);
  Finish(d, table, best1, index1, row1);
  Finish(d, table, best2, index2, row2);
  Finish(d, table, best3, index3, row3);
}

template <class D, typename In, typename T>
HWY_INLINE void PoolOne(D d, const SampleTable& table, int edge, const Row<In, T>& row) {
  const hn::RebindToSigned<D> di;
  const EdgeSamples samples = table.Edge(edge);
  auto best = StartBest(d, table, samples.Get(0), row);
  auto index = StartIndex(di, table, row);
  for (int i = table.begin() == 0 ? 1 : 0; i < table.count(); ++i) {
    const auto sample = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    const Sample s = samples.Get(i);
    Compete(Interpolate(d, s, PixelsOf(s, row.from), 0), sample, best, index);
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

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
