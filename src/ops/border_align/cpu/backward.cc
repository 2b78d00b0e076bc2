// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU. One worker adds the gradients of all boxes to a slice of the
// channels, batch by batch. The order of additions depends neither on threads nor on slices.
#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/cpu/samples-inl.h"
#include "ops/border_align/cpu/scatter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {
namespace {

// Adds the gradients of a slice of an NHWC tensor.
template <typename T, bool kFinal>
HWY_INLINE void ScatterTensor(const KernelCall& call, const Slice& slice,
                              const SliceMap<float>& sums) {
  ScatterSlice<T, kFinal>(call, slice,
                          TensorRows(call.p, slice, call.arguments.In<T>("grad_output")), sums);
}

// Writes a slice's sums.
template <typename T>
HWY_INLINE void Unpack(const KernelCall& call, const Slice& slice, const float* HWY_RESTRICT sums) {
  T* HWY_RESTRICT const to =
      TensorMap(call.p, call.slices, slice, call.arguments.Out<T>("grad_input")).data;
  ForEachRow(call.p, call.slices, slice, [&](int64_t packed, int64_t tensor, int64_t channels) {
    simd::ForEach<float>(channels, [&](auto d, int64_t i) {
      simd::StoreFloats(simd::CanonicalNan(d, hn::LoadU(d, sums + packed + i)), d, to + tensor + i);
    });
  });
}

// Slices [begin, end) of [N, 4, slices]. sums: [blocks, H, W, block]
void ScatterPacked(const KernelCall& call, float* sums, int64_t begin, int64_t end) {
  const auto map = PackedMap(call.p, call.slices, sums);
  for (int64_t i = begin; i < end; ++i) {
    const Slice slice = MakeSlice(call.p, call.slices, i);
    simd::ZeroRow(sums, call.p.pixels() * call.slices.size);
    if (call.half()) {
      ScatterTensor<Half, false>(call, slice, map);
      Unpack<Half>(call, slice, sums);
    } else {
      ScatterTensor<float, false>(call, slice, map);
      Unpack<float>(call, slice, sums);
    }
  }
}

// Adds to `sums` [N, H, W, 4*C], which must be zero-initialized.
void ScatterWhole(const KernelCall& call, float* sums, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const Slice slice = MakeSlice(call.p, call.slices, i);
    const auto map = TensorMap(call.p, call.slices, slice, sums);
    call.half() ? ScatterTensor<Half, true>(call, slice, map)
                : ScatterTensor<float, true>(call, slice, map);
  }
}

void ConvertToHalf(const float* from, Half* to, int64_t begin, int64_t end) {
  simd::ForEach<float>(end - begin, [&](auto d, int64_t i) {
    simd::StoreFloats(hn::LoadU(d, from + begin + i), d, to + begin + i);
  });
}

}  // namespace
}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(ScatterPacked);
HWY_EXPORT(ScatterWhole);
HWY_EXPORT(ConvertToHalf);

size_t SlicesScratch(const CpuCall<Problem>& call) {
  return OrderBytes(call.p) +
         call.context.PerWorkerBytes(PackedSize(call.p, ChooseSlices(call, kBlock)));
}

// Each worker has packed sums, which it writes out slice by slice.
mluOpStatus_t RunSlices(const CpuCall<Problem>& c, void* scratch) {
  const KernelCall call = {c.p, c.arguments, ChooseSlices(c, kBlock), SortAll(c, scratch)};
  const Problem& p = c.p;
  const int64_t size = PackedSize(p, call.slices);
  float* sums = static_cast<float*>(scratch) + OrderSize(p);
  const auto kernel = HWY_DYNAMIC_DISPATCH(ScatterPacked);
  c.context.threads().For(SliceCount(p, call.slices),
                          kGrain / ((p.pixels() + p.k) * call.slices.size) + 1,
                          [&](int64_t begin, int64_t end, int worker) {
                            kernel(call, sums + worker * size, begin, end);
                          });
  return MLUOP_STATUS_SUCCESS;
}

size_t WholeScratch(const CpuCall<Problem>& call) {
  const bool half = call.arguments.Type() == MLUOP_DTYPE_HALF;
  return OrderBytes(call.p) + (half ? static_cast<size_t>(call.p.elements()) * sizeof(float) : 0);
}

// Sums in grad_input itself; half: in a float map of its size. With few samples, zero-filling
// dominates; a contiguous fill is fastest.
mluOpStatus_t RunWhole(const CpuCall<Problem>& c, void* scratch) {
  const KernelCall call = {c.p, c.arguments, ChooseSlices(c, kBlock), SortAll(c, scratch)};
  const Problem& p = c.p;
  ThreadPool& threads = c.context.threads();
  float* sums = call.half() ? static_cast<float*>(scratch) + OrderSize(p)
                            : c.arguments.Out<float>("grad_input");
  const auto scatter = HWY_DYNAMIC_DISPATCH(ScatterWhole);
  const auto round = HWY_DYNAMIC_DISPATCH(ConvertToHalf);
  threads.For(p.elements(), kFillGrain, [&](int64_t begin, int64_t end, int) {
    std::memset(sums + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
  });
  threads.For(SliceCount(p, call.slices), kGrain / (int64_t{p.k} * call.slices.size) + 1,
              [&](int64_t begin, int64_t end, int) { scatter(call, sums, begin, end); });
  if (!call.half()) return MLUOP_STATUS_SUCCESS;
  threads.For(p.elements(), kFillGrain, [&](int64_t begin, int64_t end, int) {
    round(sums, c.arguments.Out<Half>("grad_input"), begin, end);
  });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"slices", "the boxes read the map at least twice, and a channel of it has at most 4 Mi pixels",
     ShouldPack<kMinReads>, SlicesScratch, RunSlices, DescribeSlices<kBlock>},
    {"whole_map", "always", Always, WholeScratch, RunWhole, DescribeSlices<kBlock>},
    CpuImplementation<Problem>::ForDouble(RunDoubleBackward),
};

}  // namespace

constexpr CpuOperator kBackwardCpu = Bind<MakeProblem, kBackward>("border_align_backward");

}  // namespace mluop::border_align
#endif  // HWY_ONCE
