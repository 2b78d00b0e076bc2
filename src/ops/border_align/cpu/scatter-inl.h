// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU: the channels of one edge, added to its samples' pixels.
// Included once per instruction set.

#if defined(MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
#undef MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
#else
#define MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
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

// sum + weight * gradient: the same rounding in a vector and in a single lane, so that a channel's
// sums do not depend on the slice it is in.
template <class D>
HWY_INLINE void Add(D d, hn::Vec<D> weight, hn::Vec<D> gradient, float* sum) {
  hn::StoreU(hn::MulAdd(weight, gradient, hn::LoadU(d, sum)), d, sum);
}

// The channels of an edge: what goes where.
template <typename T>
struct Row {
  const T* gradient;
  const int32_t* argmax;
  float* sums;  // of pixel (0, 0)

  HWY_INLINE Row At(int64_t c) const { return {gradient + c, argmax + c, sums + c}; }
};

// Each channel on its own.
template <typename T>
HWY_INLINE void ScatterElements(const SampleTable& table, int edge, int64_t channels,
                                const Row<T>& row) {
  const hn::CappedTag<float, 1> d;
  const int64_t begin = table.begin();
  const auto count = static_cast<uint64_t>(table.count());
  const EdgeSamples samples = table.Edge(edge);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t i = row.argmax[c] - begin;
    if (static_cast<uint64_t>(i) >= count) continue;  // negative ones are huge
    const Sample s = samples.Get(i);
    if (!s.inside) continue;
    const auto gradient = hn::Set(d, ToFloat(row.gradient[c]));
    for (int j = 0; j < 4; ++j) {
      Add(d, hn::Set(d, s.weight[j]), gradient, row.sums + s.offset[j] + c);
    }
  }
}

// What the channels that chose a sample add to its four pixels; the others add 0, which changes
// nothing: a sum is never -0. `first`: the channel of the first lane.
template <class D, class VI>
HWY_INLINE void ScatterSample(D d, const Pixels<float>& pixels, const Sample& s, VI index,
                              hn::Vec<D> gradient, VI argmax, int64_t first) {
  const auto chosen = hn::RebindMask(d, hn::Eq(argmax, index));
  const auto part = hn::IfThenElseZero(chosen, gradient);
  for (int j = 0; j < 4; ++j) Add(d, hn::Set(d, s.weight[j]), part, pixels.at[j] + first);
}

template <class D, typename T>
HWY_INLINE void ScatterOne(D d, const SampleTable& table, int edge, const Row<T>& row) {
  const hn::RebindToSigned<D> di;
  const auto gradient = LoadFloats(d, row.gradient);
  const auto argmax = hn::LoadU(di, row.argmax);
  const EdgeSamples samples = table.Edge(edge);
  for (int i = 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    if (!s.inside) continue;
    const auto index = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    ScatterSample(d, PixelsOf(s, row.sums), s, index, gradient, argmax, 0);
  }
}

// Four vectors at a time: neighbouring samples share pixels, and a sum that was stored a moment ago
// takes a while to be read.
template <class D, typename T>
HWY_INLINE void ScatterFour(D d, const SampleTable& table, int edge, const Row<T>& row) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto gradient0 = LoadFloats(d, row.gradient);
  const auto gradient1 = LoadFloats(d, row.gradient + lanes);
  const auto gradient2 = LoadFloats(d, row.gradient + 2 * lanes);
  const auto gradient3 = LoadFloats(d, row.gradient + 3 * lanes);
  const auto argmax0 = hn::LoadU(di, row.argmax);
  const auto argmax1 = hn::LoadU(di, row.argmax + lanes);
  const auto argmax2 = hn::LoadU(di, row.argmax + 2 * lanes);
  const auto argmax3 = hn::LoadU(di, row.argmax + 3 * lanes);
  const EdgeSamples samples = table.Edge(edge);
  for (int i = 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    if (!s.inside) continue;
    const Pixels<float> pixels = PixelsOf(s, row.sums);
    const auto index = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    ScatterSample(d, pixels, s, index, gradient0, argmax0, 0);
    ScatterSample(d, pixels, s, index, gradient1, argmax1, lanes);
    ScatterSample(d, pixels, s, index, gradient2, argmax2, 2 * lanes);
    ScatterSample(d, pixels, s, index, gradient3, argmax3, 3 * lanes);
  }
}

// The channels that fill vectors; returns how many. A vector goes through all samples of the edge,
// which pays while there are few: from 21 samples on (AVX-512; 13 on AVX2) single channels are
// faster. Not inlined: its registers are not missed where rows are short.
template <typename T>
HWY_NOINLINE int64_t ScatterVectors(const SampleTable& table, int edge, int64_t channels,
                                    const Row<T>& row) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) ScatterFour(d, table, edge, row.At(c));
  for (; c + lanes <= channels; c += lanes) ScatterOne(d, table, edge, row.At(c));
  return c;
}

template <typename T>
HWY_INLINE void ScatterRow(const Problem& p, const SampleTable& table, int edge, int64_t channels,
                           const Row<T>& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t c = 0;
  if (channels >= lanes && p.samples() <= lanes + 4) {
    c = ScatterVectors(table, edge, channels, row);
  }
  if (c < channels) ScatterElements(table, edge, channels - c, row.At(c));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
