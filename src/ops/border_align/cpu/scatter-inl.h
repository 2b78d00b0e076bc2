// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU: the gradients of one edge's channels, added to the neighbours
// of their samples. Included once per instruction set.

#if defined(MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
#undef MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
#else
#define MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

// The channels of an edge. kFinal: the sums are the result itself, so NaN is canonical in them.
template <typename T, bool kFinal>
struct ScatterRow {
  const T* gradient;
  const int32_t* argmax;
  float* sums;  // of pixel (0, 0)

  HWY_INLINE ScatterRow At(int64_t c) const { return {gradient + c, argmax + c, sums + c}; }

  // Adds the gradients to the four neighbours of a sample, from channel `c` on. Product and sum are
  // rounded one after the other on every instruction set, in a vector and in a single lane.
  template <class D>
  HWY_INLINE void Add(D d, const Sample& s, hn::Vec<D> gradients, int64_t c) const {
    Unroll<4>([&](auto j) HWY_ATTR {
      float* to = sums + c + s.offset[j];
      const auto part = hn::Mul(hn::Set(d, s.weight[j]), gradients);
      const auto sum = hn::Add(hn::LoadU(d, to), part);
      hn::StoreU(kFinal ? CanonicalNan(d, sum) : sum, d, to);
    });
  }
};

// One channel after the other.
template <class Row>
HWY_INLINE void ScatterElements(const SampleTable& table, int edge, int64_t channels,
                                const Row& row) {
  const hn::CappedTag<float, 1> d;
  const auto count = static_cast<uint64_t>(table.count());
  const EdgeSamples samples = table.Edge(edge);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t i = row.argmax[c] - table.begin();
    if (static_cast<uint64_t>(i) >= count) continue;  // also where i is negative
    const Sample s = samples.Get(i);
    if (s.inside) row.Add(d, s, hn::Set(d, ToFloat(row.gradient[c])), c);
  }
}

// Loops kCount vectors over all samples. Lanes whose argmax is another sample add 0, which does not
// change a sum, because a sum is never -0. Four vectors at a time, because neighbouring samples
// share pixels, and a load of a sum waits for the store before it.
template <int kCount, class D, class Row>
HWY_INLINE void ScatterVecs(D d, const SampleTable& table, int edge, const Row& row) {
  using DI = hn::RebindToSigned<D>;
  const DI di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto gradient = LoadVecs<kCount>(d, row.gradient);
  const auto argmax =
      MakeVecs<DI, kCount>([&](auto k) HWY_ATTR { return hn::LoadU(di, row.argmax + k * lanes); });
  const EdgeSamples samples = table.Edge(edge);
  for (int i = 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    if (!s.inside) continue;
    const auto index = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    Unroll<kCount>([&](auto k) HWY_ATTR {
      const auto chosen = hn::RebindMask(d, hn::Eq(argmax.v[k], index));
      row.Add(d, s, hn::IfThenElseZero(chosen, gradient.v[k]), k * lanes);
    });
  }
}

// Scatters the channels that fill vectors; returns how many. Not inlined, so that short rows do not
// pay for its registers.
template <class Row>
HWY_NOINLINE int64_t ScatterWholeVecs(const SampleTable& table, int edge, int64_t channels,
                                      const Row& row) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) ScatterVecs<4>(d, table, edge, row.At(c));
  for (; c + lanes <= channels; c += lanes) ScatterVecs<1>(d, table, edge, row.At(c));
  return c;
}

// Vectors are faster up to 20 samples (AVX-512) or 12 (AVX2); single channels from there on.
template <class Row>
HWY_INLINE void ScatterChannels(const Problem& p, const SampleTable& table, int edge,
                                int64_t channels, const Row& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t c = 0;
  if (channels >= lanes && p.samples() <= lanes + 4) {
    c = ScatterWholeVecs(table, edge, channels, row);
  }
  if (c < channels) ScatterElements(table, edge, channels - c, row.At(c));
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
