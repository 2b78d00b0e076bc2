// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: the samples of a batch of edges are computed once. Then each
// vector of channels loops over them, with maxima and indices in registers.
#include <algorithm>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#ifndef MLUOP_BORDER_ALIGN_FORWARD_SCRATCH_
#define MLUOP_BORDER_ALIGN_FORWARD_SCRATCH_
namespace mluop::border_align {

// Per-worker scratch.
struct ForwardScratch {
  float* best;  // [kBatch, slice], used if an edge has more samples than the table
  float* map;   // [H, W, slice]; NULL: the slices are not packed
};

}  // namespace mluop::border_align
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu/forward.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {
namespace {

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
  bool stream;

  HWY_INLINE PoolRow At(int64_t c) const {
    return {map + c, output + c, argmax + c, best + c, stream};
  }
};

template <class D, class VI, typename In, typename T>
HWY_INLINE void StoreMaxima(D d, const SampleTable& table, hn::Vec<D> best, VI index,
                            const PoolRow<In, T>& row) {
  const hn::DFromV<VI> di;
  if (!table.last()) {
    hn::StoreU(best, d, row.best);
    hn::StoreU(index, di, row.argmax);
  } else if (row.stream) {
    simd::StreamFloats(simd::CanonicalNan(d, best), d, row.output);
    hn::Stream(index, di, row.argmax);
  } else {
    simd::StoreFloats(simd::CanonicalNan(d, best), d, row.output);
    hn::StoreU(index, di, row.argmax);
  }
}

// Pools kCount vectors of channels. With kCount = 4, one load of a sample's weights and offsets
// serves four vectors, and maxima and indices still fit the 16 registers of AVX2.
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
  for (; c + 4 * lanes <= channels; c += 4 * lanes) PoolVecs<4>(d, table, edge, row.At(c));
  if (c < channels) PoolRemainder(d, c, channels, table, edge, row);
}

// Pools the boxes of the batches [begin, end) for a slice.
template <typename T, typename In>
HWY_INLINE void PoolBatches(const KernelCall& call, const Slice& slice, const SliceMap<In>& map,
                            float* best, int64_t begin, int64_t end) {
  const int block = call.slices.block;
  T* const output = call.arguments.Out<T>("output");
  int32_t* const argmax = call.arguments.Out<int32_t>("argmax_idx");
  ForEachEdge<T>(
      call, slice, map.pixel_stride, begin, end,
      [&](const SampleTable& table, const Batch& batch, int edge, int c) {
        const int64_t at = RowOffset(call.p, slice, batch.box[edge]) + c;
        PoolChannels(
            std::min(block, slice.channels - c), table, edge,
            PoolRow<In, T>{map.data + c / block * map.block_stride, output + at, argmax + at,
                           best + int64_t{edge} * call.slices.size + c, call.stream});
      });
}

template <typename T>
HWY_INLINE void Pack(const KernelCall& call, const Slice& slice, const T* HWY_RESTRICT from,
                     float* HWY_RESTRICT to) {
  ForEachRow(call.p, call.slices, slice, [&](int64_t packed, int64_t tensor, int64_t channels) {
    simd::ForEach<float>(channels, [&](auto d, int64_t i) {
      hn::StoreU(simd::LoadFloats(d, from + tensor + i), d, to + packed + i);
    });
  });
}

template <typename T>
HWY_INLINE void PoolItemsTyped(const KernelCall& call, const ForwardScratch& scratch, int64_t begin,
                               int64_t end) {
  const int64_t batches = BatchCount(call.p);
  for (int64_t item = begin; item < end;) {
    const Slice slice = MakeSlice(call.p, call.slices, item / batches);
    const auto map = TensorMap(call.p, call.slices, slice, call.arguments.In<T>("input"));
    const int64_t first = item % batches, last = std::min(first + end - item, batches);
    if (scratch.map != nullptr) {
      Pack(call, slice, map.data, scratch.map);
      const auto packed = PackedMap<const float>(call.p, call.slices, scratch.map);
      PoolBatches<T>(call, slice, packed, scratch.best, first, last);
    } else {
      PoolBatches<T>(call, slice, map, scratch.best, first, last);
    }
    item += last - first;
  }
  if (call.stream) hwy::FlushStream();
}

// Items [begin, end) of [N, 4, slices, batches of K].
void PoolItems(const KernelCall& call, const ForwardScratch& scratch, int64_t begin, int64_t end) {
  call.half() ? PoolItemsTyped<Half>(call, scratch, begin, end)
              : PoolItemsTyped<float>(call, scratch, begin, end);
}

}  // namespace
}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(PoolItems);

// Returns true if the outputs are large and aligned for full vectors of every instruction set.
// 0.55x to 0.7x the time on [2, 25, 38, 1024] (one thread of a busy machine).
bool ShouldStream(const Problem& p, const Slices& slices, const Arguments& a) {
  constexpr int kLanes = 16;
  const auto aligned = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
  };
  const size_t element = a.Type() == MLUOP_DTYPE_HALF ? sizeof(Half) : sizeof(float);
  const auto count = static_cast<size_t>(int64_t{p.n} * p.k * p.channels());
  return mluop::ShouldStream(count * (element + sizeof(int32_t))) && p.c % kLanes == 0 &&
         slices.block % kLanes == 0 && aligned(a.Out<void>("output")) &&
         aligned(a.Out<void>("argmax_idx"));
}

// Floats of the maxima in a worker's scratch.
int64_t BestSize(const Slices& slices) { return WholeLines(int64_t{kBatch} * slices.size); }

// Runs the call. Each worker uses `size` floats of `scratch`; its packed map comes last.
void Pool(const CpuCall<Problem>& c, const Slices& slices, const int32_t* order, float* scratch,
          int64_t size) {
  const Problem& p = c.p;
  const KernelCall call = {p, c.arguments, slices, order, ShouldStream(p, slices, c.arguments)};
  const int64_t best = BestSize(slices);
  const int64_t work = std::min(kRangeSamples, p.samples()) * std::min(p.k, kBatch) * slices.size;
  const auto kernel = HWY_DYNAMIC_DISPATCH(PoolItems);
  c.context.threads().For(SliceCount(p, slices) * BatchCount(p),
                          std::max(kRangeSamples, 2 * (size - best)) / work + 1,
                          [&](int64_t begin, int64_t end, int worker) {
                            float* own = scratch + worker * size;
                            kernel(call, {own, size > best ? own + best : nullptr}, begin, end);
                          });
}

size_t SlicesScratch(const CpuCall<Problem>& call) {
  const Slices slices = ChooseSlices(call);
  return OrderBytes(call.p) +
         call.context.PerWorkerBytes(BestSize(slices) + PackedSize(call.p, slices));
}

mluOpStatus_t RunSlices(const CpuCall<Problem>& call, void* scratch) {
  const Slices slices = ChooseSlices(call);
  const int32_t* order = SortAll(call, scratch);
  Pool(call, slices, order, static_cast<float*>(scratch) + OrderSize(call.p),
       BestSize(slices) + PackedSize(call.p, slices));
  return MLUOP_STATUS_SUCCESS;
}

Slices StridedSlices(const Problem& p) { return MakeSlices(p, kStridedSlice, kStridedSlice); }

size_t StridedScratch(const CpuCall<Problem>& call) {
  return call.context.PerWorkerBytes(BestSize(StridedSlices(call.p)));
}

mluOpStatus_t RunStrided(const CpuCall<Problem>& call, void* scratch) {
  const Slices slices = StridedSlices(call.p);
  Pool(call, slices, nullptr, static_cast<float*>(scratch), BestSize(slices));
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"slices",
     "64 channels; the boxes read the map at least 4 times, and a channel of it has at most 4 Mi "
     "pixels",
     [](const CpuCall<Problem>& call) {
       return call.p.c >= kBlock && ShouldPack<kForwardReads>(call);
     },
     SlicesScratch, RunSlices, DescribeSlices},
    {"strided", "always", Always, StridedScratch, RunStrided},
    CpuImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
#endif  // HWY_ONCE
