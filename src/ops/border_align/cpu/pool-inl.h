// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: each vector of an edge's channels loops over the samples, with
// maxima and indices in registers. Included once per instruction set.

#if defined(MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#undef MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#else
#define MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {

// Returns the sample's value for the channels starting at `map`. One order of rounded products and
// sums on every instruction set, without FMA.
template <class D, typename In>
HWY_INLINE hn::Vec<D> Interpolate(D d, const Sample& s, const In* map) {
  if (!s.inside) return hn::Zero(d);
  const auto term = [&](int j) HWY_ATTR {
    return hn::Mul(hn::Set(d, s.weight[j]), simd::LoadFloats(d, map + s.offset[j]));
  };
  return hn::Add(hn::Add(term(0), term(1)), hn::Add(term(2), term(3)));
}

// Updates the maximum and its index. NaN never compares greater, so it never replaces a maximum.
template <class V, class VI>
HWY_INLINE void UpdateArgmax(V value, VI sample, V& best, VI& index) {
  const auto greater = hn::Gt(value, best);
  const auto chosen = hn::RebindMask(hn::DFromV<VI>(), greater);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  // A blend takes three operations here; Max takes 0.87x the time (AVX2). x86's Max returns its
  // second operand where one is NaN, and a later sample has the greater index.
  best = hn::Max(value, best);
  index = hn::Max(index, hn::IfThenElseZero(chosen, sample));
#else
  best = hn::IfThenElse(greater, value, best);
  index = hn::IfThenElse(chosen, sample, index);
#endif
}

// The inputs and results of an edge's channels.
template <typename In, typename T>
struct PoolRow {
  const In* map;
  T* output;
  int32_t* argmax;
  float* best;  // maxima between two windows of samples
  bool stream_output, stream_argmax;

  HWY_INLINE PoolRow At(int64_t c) const {
    return {map + c, output + c, argmax + c, best + c, stream_output, stream_argmax};
  }
};

template <class D, class VI, typename In, typename T>
HWY_INLINE void StoreMaxima(D d, const SampleTable& table, hn::Vec<D> best, VI index,
                            const PoolRow<In, T>& row) {
  const hn::DFromV<VI> di;
  if (!table.last()) {
    hn::StoreU(best, d, row.best);
    hn::StoreU(index, di, row.argmax);
    return;
  }
  const auto output = simd::CanonicalNan(d, best);
  if (row.stream_output) {
    simd::StreamFloats(output, d, row.output);
  } else {
    simd::StoreFloats(output, d, row.output);
  }
  if (row.stream_argmax) {
    hn::Stream(index, di, row.argmax);
  } else {
    hn::StoreU(index, di, row.argmax);
  }
}

// Pools kCount vectors of channels. One load of a sample's weights and offsets serves all of them.
// 16 registers (AVX2) hold the maxima and indices of 4 vectors, 32 registers (AVX-512) of 8.
template <int kCount, class D, typename In, typename T>
HWY_INLINE void PoolVecs(D d, const SampleTable& table, int edge, const PoolRow<In, T>& row) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const EdgeSamples samples = table.Edge(edge);
  const bool start = table.begin() == 0;
  const Sample first = samples.Get(0);
  auto best = simd::MakeVecs<D, kCount>([&](auto k) HWY_ATTR {
    return start ? Interpolate(d, first, row.map + k * lanes) : hn::LoadU(d, row.best + k * lanes);
  });
  auto index = simd::MakeVecs<hn::RebindToSigned<D>, kCount>([&](auto k) HWY_ATTR {
    return start ? hn::Zero(di) : hn::LoadU(di, row.argmax + k * lanes);
  });
  for (int i = start ? 1 : 0; i < table.count(); ++i) {
    const Sample s = samples.Get(i);
    const auto sample = hn::Set(di, static_cast<int32_t>(table.begin() + i));
    simd::Unroll<kCount>([&](auto k) HWY_ATTR {
      UpdateArgmax(Interpolate(d, s, row.map + k * lanes), sample, best.v[k], index.v[k]);
    });
  }
  simd::Unroll<kCount>(
      [&](auto k) HWY_ATTR { StoreMaxima(d, table, best.v[k], index.v[k], row.At(k * lanes)); });
}

// Pools the remaining channels [c, channels). The last vector is a full vector that overlaps the
// previous one: comparing a channel with the same samples twice does not change the result. Rows
// shorter than a vector use quarter vectors.
template <class D, typename In, typename T>
HWY_NOINLINE void PoolRemainder(D d, int64_t c, int64_t channels, const SampleTable& table,
                                int edge, const PoolRow<In, T>& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (channels < lanes) {
      return PoolRemainder(hn::Half<hn::Half<D>>(), c, channels, table, edge, row);
    }
  }
  for (; c < channels; c += lanes) {
    PoolVecs<1>(d, table, edge, row.At(std::min(c, channels - lanes)));
  }
}

// Not inlined: half would take 3.3x the time (AVX-512).
template <typename In, typename T>
HWY_NOINLINE void PoolChannels(int64_t channels, const SampleTable& table, int edge,
                               const PoolRow<In, T>& row) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  for (; c + 8 * lanes <= channels; c += 8 * lanes) PoolVecs<8>(d, table, edge, row.At(c));
#endif
  for (; c + 4 * lanes <= channels; c += 4 * lanes) PoolVecs<4>(d, table, edge, row.At(c));
  if (c < channels) PoolRemainder(d, c, channels, table, edge, row);
}

// Where forward stores the results of a slice.
template <typename Out>
struct PoolResults {
  BoxRows<Out> output;
  BoxRows<int32_t> argmax;
  float* best;  // [kBatch, slice]: maxima between two windows of samples
  bool stream;  // non-temporal stores of the output; of argmax: KernelCall::stream
};

// Pools the boxes of the batches [begin, end) for a slice. T: the type of the boxes.
template <typename T, typename In, typename Out>
HWY_INLINE void PoolBatches(const KernelCall& call, const Slice& slice, const SliceMap<In>& map,
                            const PoolResults<Out>& results, int64_t begin, int64_t end) {
  const int block = call.slices.block;
  ForEachEdge<T>(call, slice, map.pixel_stride, begin, end,
                 [&](const SampleTable& table, const Batch& batch, int edge, int c) {
                   const int64_t box = batch.box[edge];
                   PoolChannels(
                       std::min(block, slice.channels - c), table, edge,
                       PoolRow<In, Out>{map.data + c / block * map.block_stride,
                                        results.output.At(box) + c, results.argmax.At(box) + c,
                                        results.best + int64_t{edge} * call.slices.size + c,
                                        results.stream, call.stream});
                 });
}

}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_BORDER_ALIGN_CPU_POOL_INL_H_
