// SPDX-License-Identifier: Apache-2.0
// border_align forward on the CPU: the samples of a batch of edges are computed once. Then each
// vector of channels loops over them, with maxima and indices in registers.
#include <algorithm>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#ifndef MLUOP_BORDER_ALIGN_FORWARD_CALL_
#define MLUOP_BORDER_ALIGN_FORWARD_CALL_
namespace mluop::border_align {

// T is half or float.
struct ForwardCall {
  Problem p;
  bool half;
  const void* input;  // T [N, H, W, 4*C]
  const void* boxes;  // T [N, K, 4]
  void* output;       // T [N, K, 4, C]
  int32_t* argmax;    // [N, K, 4, C]
  Slices slices;
  const int32_t* order;  // of the boxes
  bool stream;           // non-temporal stores; every vector of the outputs is whole and aligned
};

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

#include "ops/border_align/cpu/pool-inl.h"
#include "ops/border_align/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {
namespace {

// Pools the boxes of the batches [begin, end) for a slice.
template <typename T, typename In>
HWY_INLINE void PoolBatches(const ForwardCall& call, const Slice& slice, const SliceMap<In>& map,
                            float* best, int64_t begin, int64_t end) {
  const int block = call.slices.block;
  ForEachEdge<T>(call, slice, map.pixel_stride, begin, end,
                 [&](const SampleTable& table, const Batch& batch, int edge, int c) {
                   const int64_t at = RowOffset(call.p, slice, batch.box[edge]) + c;
                   PoolChannels(
                       std::min(block, slice.channels - c), table, edge,
                       PoolRow<In, T>{map.data + c / block * map.block_stride,
                                      static_cast<T*>(call.output) + at, call.argmax + at,
                                      best + int64_t{edge} * call.slices.size + c, call.stream});
                 });
}

template <typename T>
HWY_INLINE void Pack(const ForwardCall& call, const Slice& slice, const T* HWY_RESTRICT from,
                     float* HWY_RESTRICT to) {
  ForEachRow(call.p, call.slices, slice, [&](int64_t packed, int64_t tensor, int64_t channels) {
    simd::ForEach<float>(channels, [&](auto d, int64_t i) {
      hn::StoreU(simd::LoadFloats(d, from + tensor + i), d, to + packed + i);
    });
  });
}

template <typename T>
HWY_INLINE void PoolItemsTyped(const ForwardCall& call, const ForwardScratch& scratch,
                               int64_t begin, int64_t end) {
  const int64_t batches = BatchCount(call.p);
  for (int64_t item = begin; item < end;) {
    const Slice slice = MakeSlice(call.p, call.slices, item / batches);
    const auto map = TensorMap(call.p, call.slices, slice, static_cast<const T*>(call.input));
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
void PoolItems(const ForwardCall& call, const ForwardScratch& scratch, int64_t begin, int64_t end) {
  call.half ? PoolItemsTyped<Half>(call, scratch, begin, end)
            : PoolItemsTyped<float>(call, scratch, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
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
  return count * (element + sizeof(int32_t)) >= kStreamBytes && p.c % kLanes == 0 &&
         slices.block % kLanes == 0 && aligned(a.Out<void>("output")) &&
         aligned(a.Out<void>("argmax_idx"));
}

// Floats of the maxima in a worker's scratch.
int64_t BestSize(const Slices& slices) { return WholeLines(int64_t{kBatch} * slices.size); }

// Runs the call. Each worker uses `size` floats of `scratch`; its packed map comes last.
void Pool(const CpuCall<Problem>& c, const Slices& slices, const int32_t* order, float* scratch,
          int64_t size) {
  const Problem& p = c.p;
  const Arguments& a = c.arguments;
  const ForwardCall call = {p,
                            a.Type() == MLUOP_DTYPE_HALF,
                            a.In<void>("input"),
                            a.In<void>("boxes"),
                            a.Out<void>("output"),
                            a.Out<int32_t>("argmax_idx"),
                            slices,
                            order,
                            ShouldStream(p, slices, a)};
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
    {"slices", kWhenPacked, ShouldPack, SlicesScratch, RunSlices, DescribeSlices},
    {"strided", "always", Always, StridedScratch, RunStrided},
    CpuImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
#endif  // HWY_ONCE
