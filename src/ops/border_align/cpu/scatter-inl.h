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
namespace mluop::border_align::HWY_NAMESPACE {

// The channels of an edge. kFinal: the sums are the result itself, so NaN is canonical in them.
template <typename T, bool kFinal>
struct ScatterRow {
  const T* gradient;
  const int32_t* argmax;
  float* sums;  // of pixel (0, 0)

  HWY_INLINE ScatterRow At(int64_t c) const { return {gradient + c, argmax + c, sums + c}; }

  // Product and sum are rounded one after the other on every instruction set, in a vector and in a
  // single lane.
  template <class D>
  HWY_INLINE void Add(D d, hn::Vec<D> weights, hn::Vec<D> gradients, int64_t offset) const {
    const auto sum = hn::Add(hn::LoadU(d, sums + offset), hn::Mul(weights, gradients));
    hn::StoreU(kFinal ? simd::CanonicalNan(d, sum) : sum, d, sums + offset);
  }
};

// The pixels that the samples of each edge of a batch touch, in pairs: one pixel on each side of
// the edge. Neighbouring samples share pixels: 11 samples touch 14.7 pairs along x and 10.3 along y
// on the 25x38 map, instead of 22. A gradient has the weight of its own sample in each pixel, 0
// where the sample does not touch it.
struct EdgePixels {
  static constexpr int kSamples = 16;  // more do not fit the lookup

  struct Pair {
    float weight[2][kSamples];  // of the pixel on the low and on the high side
  };

  // Adds an edge. The edges of a batch are added in order.
  HWY_INLINE void Append(const EdgeSamples& samples, int edge, int count) {
    first[0] = 0;
    int end = first[edge];
    int low = end, high = end;
    offset[end] = -1;
    const auto add = [&](int64_t low_offset) {
      pair[end] = {};
      offset[end] = low_offset;
      return end++;
    };
    across[edge] = samples.fixed_high - samples.fixed_low;
    for (int i = 0; i < count; ++i) {
      const Sample s = samples.Get(i);
      if (!s.inside) continue;
      if (s.offset[0] != offset[low]) {
        const bool next = s.offset[0] == offset[high], previous = s.offset[1] == offset[low];
        const int old_low = low;
        low = next ? high : add(s.offset[0]);
        high = previous ? old_low : add(s.offset[1]);
      }
      for (int side = 0; side < 2; ++side) {
        pair[low].weight[side][i] = s.weight[2 * side];
        pair[high].weight[side][i] = s.weight[2 * side + 1];
      }
    }
    first[edge + 1] = end;
  }

  static constexpr int kMaxPairs = 2 * kBatch * kSamples;
  alignas(64) Pair pair[kMaxPairs];
  int64_t offset[kMaxPairs + 1];  // of a pair's low side
  int64_t across[kBatch];         // from the low to the high side of an edge's pairs
  int first[kBatch + 1];          // the first pair of an edge
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
    if (!s.inside) continue;
    const auto gradient = hn::Set(d, ToFloat(row.gradient[c]));
    simd::Unroll<4>(
        [&](auto j) HWY_ATTR { row.Add(d, hn::Set(d, s.weight[j]), gradient, s.offset[j] + c); });
  }
}

// Scatters kCount vectors. A lane adds 0 to pixels that its sample does not touch, which does not
// change a sum, because a sum is never -0.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr bool kUsesPixels = true;
constexpr int64_t kMaxVectorSamples = EdgePixels::kSamples;

// Pair by pair: 0.80x the time of the loop over the samples with 950 boxes on 25x38x1024, 0.44x
// with 70 boxes on 7x10x1024. Two lookups of 8 floats (AVX2) take 1.4x the time of that loop.
template <int kCount, class D, class Row>
HWY_INLINE void ScatterVecs(D d, const SampleTable& table, const EdgePixels& pixels, int edge,
                            const Row& row) {
  using DI = hn::RebindToSigned<D>;
  const DI di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::Set(di, EdgePixels::kSamples - 1);
  auto gradient = simd::LoadVecs<kCount>(d, row.gradient);
  auto finite = hn::Zero(d);
  simd::Unroll<kCount>(
      [&](auto k) HWY_ATTR { finite = hn::Or(finite, hn::Sub(gradient.v[k], gradient.v[k])); });
  if (!hn::AllTrue(d, hn::Eq(finite, hn::Zero(d)))) {  // 0 times infinity is NaN
    return ScatterElements(table, edge, kCount * lanes, row);
  }
  const auto index = simd::MakeVecs<DI, kCount>([&](auto k) HWY_ATTR {
    const auto argmax = hn::LoadU(di, row.argmax + k * lanes);
    const auto valid = hn::Eq(hn::AndNot(mask, argmax), hn::Zero(di));
    gradient.v[k] = hn::IfThenElseZero(hn::RebindMask(d, valid), gradient.v[k]);
    return hn::And(argmax, mask);
  });
  for (int i = pixels.first[edge]; i < pixels.first[edge + 1]; ++i) {
    const int64_t low = pixels.offset[i], high = low + pixels.across[edge];
    const auto low_weights = hn::Load(d, pixels.pair[i].weight[0]);
    const auto high_weights = hn::Load(d, pixels.pair[i].weight[1]);
    simd::Unroll<kCount>([&](auto k) HWY_ATTR {
      const auto sample = hn::IndicesFromVec(d, index.v[k]);
      row.Add(d, hn::TableLookupLanes(low_weights, sample), gradient.v[k], low + k * lanes);
      row.Add(d, hn::TableLookupLanes(high_weights, sample), gradient.v[k], high + k * lanes);
    });
  }
}
#else
constexpr bool kUsesPixels = false;
// With more samples single channels are faster. AVX2: 12.
constexpr auto kMaxVectorSamples = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>())) + 4;

// Sample by sample.
template <int kCount, class D, class Row>
HWY_INLINE void ScatterVecs(D d, const SampleTable& table, const EdgePixels&, int edge,
                            const Row& row) {
  using DI = hn::RebindToSigned<D>;
  const DI di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto gradient = simd::LoadVecs<kCount>(d, row.gradient);
  const auto argmax = simd::MakeVecs<DI, kCount>(
      [&](auto k) HWY_ATTR { return hn::LoadU(di, row.argmax + k * lanes); });
  const EdgeSamples samples = table.Edge(edge);
  for (int i = 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    if (!s.inside) continue;
    const auto index = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    simd::Unroll<kCount>([&](auto k) HWY_ATTR {
      const auto chosen = hn::RebindMask(d, hn::Eq(argmax.v[k], index));
      const auto part = hn::IfThenElseZero(chosen, gradient.v[k]);
      simd::Unroll<4>([&](auto j) HWY_ATTR {
        row.Add(d, hn::Set(d, s.weight[j]), part, s.offset[j] + k * lanes);
      });
    });
  }
}
#endif

// Scatters the channels that fill vectors; returns how many. Not inlined, so that short rows do not
// pay for its registers. Aligned: 48 bytes after a line it takes 1.06x the time with 950 boxes on
// 25x38x1024 (Zen 5, AVX-512, 1 thread).
template <class Row>
[[gnu::aligned(64)]] HWY_NOINLINE int64_t ScatterWholeVecs(const SampleTable& table,
                                                           const EdgePixels& pixels, int edge,
                                                           int64_t channels, const Row& row) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    ScatterVecs<4>(d, table, pixels, edge, row.At(c));
  }
  for (; c + lanes <= channels; c += lanes) ScatterVecs<1>(d, table, pixels, edge, row.At(c));
  return c;
}

// Scatters the channels of an edge. `pixels` has the edge if kUsesPixels.
template <class Row>
HWY_INLINE void ScatterChannels(const SampleTable& table, const EdgePixels& pixels, int edge,
                                int64_t channels, const Row& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t c = 0;
  if (channels >= lanes && table.samples() <= kMaxVectorSamples) {
    c = ScatterWholeVecs(table, pixels, edge, channels, row);
  }
  if (c < channels) ScatterElements(table, edge, channels - c, row.At(c));
}

// Adds the gradients of all boxes to the sums of a slice. T: the type of the boxes.
template <typename T, bool kFinal, typename In>
HWY_INLINE void ScatterSlice(const KernelCall& call, const Slice& slice,
                             const BoxRows<const In>& gradients, const SliceMap<float>& sums) {
  const Problem& p = call.p;
  const int block = call.slices.block;
  const auto argmax = TensorRows(p, slice, call.arguments.In<int32_t>("argmax_idx"));
  EdgePixels pixels;
  ForEachEdge<T>(call, slice, sums.pixel_stride, 0, BatchCount(p),
                 [&](const SampleTable& table, const Batch& batch, int edge, int c) {
                   const bool same_block = edge + kAhead < batch.count;
                   const int next_edge = (edge + kAhead) % batch.count;
                   const int next_c = same_block ? c : c + block;
                   if (block >= kBlock && next_c < slice.channels) {
                     const int64_t next = batch.box[next_edge];
                     simd::PrefetchLines(gradients.At(next) + next_c, block);
                     simd::PrefetchLines(argmax.At(next) + next_c, block);
                   }
                   if (kUsesPixels && c == 0 && p.samples() <= kMaxVectorSamples) {
                     pixels.Append(table.Edge(edge), edge, table.count());
                   }
                   const int64_t box = batch.box[edge];
                   ScatterChannels(
                       table, pixels, edge, std::min(block, slice.channels - c),
                       ScatterRow<In, kFinal>{gradients.At(box) + c, argmax.At(box) + c,
                                              sums.data + c / block * sums.block_stride});
                 });
}

}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_SCATTER_INL_H_
