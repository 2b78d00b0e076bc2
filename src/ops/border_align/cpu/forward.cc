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
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/cpu/pool-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {
namespace {

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
  const Problem& p = call.p;
  const int64_t batches = BatchCount(p);
  for (int64_t item = begin; item < end;) {
    const Slice slice = MakeSlice(p, call.slices, item / batches);
    const auto map = TensorMap(p, call.slices, slice, call.arguments.In<T>("input"));
    const int64_t first = item % batches, last = std::min(first + end - item, batches);
    const PoolResults<T> results = {TensorRows(p, slice, call.arguments.Out<T>("output")),
                                    TensorRows(p, slice, call.arguments.Out<int32_t>("argmax_idx")),
                                    scratch.best, call.stream};
    if (scratch.map != nullptr) {
      Pack(call, slice, map.data, scratch.map);
      const auto packed = PackedMap<const float>(p, call.slices, scratch.map);
      PoolBatches<T>(call, slice, packed, results, first, last);
    } else {
      PoolBatches<T>(call, slice, map, results, first, last);
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
  const Slices slices = ChooseSlices(call, kForwardBlock);
  return OrderBytes(call.p) +
         call.context.PerWorkerBytes(BestSize(slices) + PackedSize(call.p, slices));
}

mluOpStatus_t RunSlices(const CpuCall<Problem>& call, void* scratch) {
  const Slices slices = ChooseSlices(call, kForwardBlock);
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
     SlicesScratch, RunSlices, DescribeSlices<kForwardBlock>},
    {"strided", "always", Always, StridedScratch, RunStrided},
    CpuImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("border_align_forward");

}  // namespace mluop::border_align
#endif  // HWY_ONCE
