// SPDX-License-Identifier: Apache-2.0
// border_align on NCHW tensors on the CPU, both directions. A worker transposes a slice of the map
// (forward) or of the gradients (backward) into scratch. It computes all borders of its channels as
// for NHWC, then transposes the results into the output. argmax_idx is NHWC memory.
#include <algorithm>

#include "core/dtype.h"
#include "cpu/transpose.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#ifndef MLUOP_BORDER_ALIGN_PLANE_SCRATCH_
#define MLUOP_BORDER_ALIGN_PLANE_SCRATCH_
namespace mluop::border_align {

// Scratch of a worker. Without a block only bytes() is defined.
struct PlaneScratch {
  PlaneScratch(const Problem& p, const Slices& slices, void* block)
      : arrays(block),
        map(arrays.Take<float>(p.pixels() * slices.size)),
        rows(arrays.Take<float>(int64_t{p.k} * kBorders * slices.size)),
        best(arrays.Take<float>(int64_t{kBatch} * slices.size)) {}

  ScratchArrays arrays;
  float* map;   // [blocks, H, W, block]: the pixels of a border, or the sums of their gradients
  float* rows;  // [K, 4, slice]: outputs or their gradients
  float* best;  // see PoolResults
};

}  // namespace mluop::border_align
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu/planes.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/transpose-inl.h"
#include "ops/border_align/cpu/pool-inl.h"
#include "ops/border_align/cpu/scatter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align::HWY_NAMESPACE {
namespace {

// Calls visit(c, channels) for groups of channels as wide as a cache line.
template <class Visit>
HWY_INLINE void ForEachLine(const Slice& slice, const Visit& visit) {
  constexpr int kLine = 16;
  for (int c = 0; c < slice.channels; c += kLine) visit(c, std::min(kLine, slice.channels - c));
}

// The planes [channels, H, W] of a slice in a tensor [N, 4*C, H, W].
template <typename T>
HWY_INLINE T* MapPlanes(const Problem& p, const Slice& slice, T* tensor) {
  const int64_t border = slice.border, channel = border * p.c + slice.channel;
  return tensor + (slice.image * p.channels() + channel) * p.pixels();
}

// The planes [channels, K, 4] of a slice in a tensor [N, C, K, 4].
template <typename T>
HWY_INLINE T* RowPlanes(const Problem& p, const Slice& slice, T* tensor) {
  return tensor + (slice.image * p.c + slice.channel) * p.k * kBorders;
}

// The slice of a border in PlaneScratch::rows.
template <typename T>
HWY_INLINE BoxRows<T> BorderRows(const KernelCall& call, int border, T* rows) {
  return {rows + int64_t{border} * call.slices.size, int64_t{kBorders} * call.slices.size};
}

// Calls visit(slice) for the borders of the slice `index` of [N, slices].
template <class Visit>
HWY_INLINE void ForEachBorder(const KernelCall& call, int64_t index, const Visit& visit) {
  const int64_t count = call.slices.count, image = index / count;
  for (int border = 0; border < kBorders; ++border) {
    visit(MakeSlice(call.p, call.slices, (image * kBorders + border) * count + index % count));
  }
}

template <typename T>
HWY_INLINE void PoolPlanes(const KernelCall& call, const PlaneScratch& scratch, int64_t index) {
  const Problem& p = call.p;
  const Slices& slices = call.slices;
  const auto map = PackedMap(p, slices, scratch.map);
  Slice last = {};
  ForEachBorder(call, index, [&](const Slice& slice) {
    const T* planes = MapPlanes(p, slice, call.arguments.In<T>("input"));
    ForEachLine(slice, [&](int c, int channels) {
      float* const to = map.data + c / slices.block * map.block_stride + c % slices.block;
      simd::Transpose<T, float>({planes + c * p.pixels(), p.pixels()}, channels, p.pixels(),
                                {to, slices.block});
    });
    PoolBatches<T>(
        call, slice, map,
        PoolResults<float>{BorderRows(call, slice.border, scratch.rows),
                           TensorRows(p, slice, call.arguments.Out<int32_t>("argmax_idx")),
                           scratch.best, false},
        0, BatchCount(p));
    last = slice;
  });
  const int64_t length = int64_t{p.k} * kBorders;
  T* const output = RowPlanes(p, last, call.arguments.Out<T>("output"));
  ForEachLine(last, [&](int c, int channels) {
    simd::Transpose<float, T>({scratch.rows + c, slices.size}, length, channels,
                              {output + c * length, length});
  });
  if (call.stream) hwy::FlushStream();
}

struct CanonicalNans {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> v) const {
    return simd::CanonicalNan(d, v);
  }
};

template <typename T>
HWY_INLINE void ScatterPlanes(const KernelCall& call, const PlaneScratch& scratch, int64_t index) {
  const Problem& p = call.p;
  const Slices& slices = call.slices;
  const auto sums = PackedMap(p, slices, scratch.map);
  const int64_t length = int64_t{p.k} * kBorders;
  ForEachBorder(call, index, [&](const Slice& slice) {
    if (slice.border == 0) {
      const T* gradients = RowPlanes(p, slice, call.arguments.In<T>("grad_output"));
      ForEachLine(slice, [&](int c, int channels) {
        simd::Transpose<T, float>({gradients + c * length, length}, channels, length,
                                  {scratch.rows + c, slices.size});
      });
    }
    simd::ZeroRow(sums.data, p.pixels() * slices.size);
    ScatterSlice<T, false>(call, slice, BorderRows<const float>(call, slice.border, scratch.rows),
                           sums);
    T* const planes = MapPlanes(p, slice, call.arguments.Out<T>("grad_input"));
    ForEachLine(slice, [&](int c, int channels) {
      const float* const from = sums.data + c / slices.block * sums.block_stride + c % slices.block;
      simd::Transpose<float, T>({from, slices.block}, p.pixels(), channels,
                                {planes + c * p.pixels(), p.pixels()}, CanonicalNans());
    });
  });
}

void PoolSlice(const KernelCall& call, const PlaneScratch& scratch, int64_t index) {
  call.half() ? PoolPlanes<Half>(call, scratch, index) : PoolPlanes<float>(call, scratch, index);
}

void ScatterSliceOf(const KernelCall& call, const PlaneScratch& scratch, int64_t index) {
  call.half() ? ScatterPlanes<Half>(call, scratch, index)
              : ScatterPlanes<float>(call, scratch, index);
}

}  // namespace
}  // namespace mluop::border_align::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(PoolSlice);
HWY_EXPORT(ScatterSliceOf);

// A slice has the same channels of all borders.
Slices ChoosePlanes(const CpuCall<Problem>& call, int block) {
  const Problem& p = call.p;
  int size = kPlaneSlice;
  const auto count = [&] { return MakeSlices(p, size, kBlock).count * p.n; };
  while (size > kBlock && count() < 2 * call.context.threads().num_threads()) size /= 2;
  while (size > 1 && size / 2 >= p.c) size /= 2;
  return MakeSlices(p, size, block);
}

bool ShouldUsePlanes(const CpuCall<Problem>& call) {
  return ChoosePlanes(call, kBlock).count * call.p.n >= call.context.threads().num_threads();
}

size_t WorkerBytes(const CpuCall<Problem>& call) {
  return PlaneScratch(call.p, ChoosePlanes(call, kBlock), nullptr).arrays.bytes();
}

size_t PlanesBytes(const CpuCall<Problem>& call) {
  return OrderBytes(call.p) +
         WorkerBytes(call) * static_cast<size_t>(call.context.threads().num_threads());
}

template <int kMaxBlock>
void DescribePlanes(const CpuCall<Problem>& call, Plan& plan) {
  const Slices slices = ChoosePlanes(call, kMaxBlock);
  plan.Add("slices %" PRId64 " of %d channels of all borders in blocks of %d",
           slices.count * call.p.n, slices.size, slices.block);
}

// `stream`: see KernelCall.
template <class Kernel>
mluOpStatus_t RunPlanes(const CpuCall<Problem>& c, void* memory, const Slices& slices, bool stream,
                        const Kernel& kernel) {
  const Problem& p = c.p;
  const KernelCall call = {p, c.arguments, slices, SortAll(c, memory), stream};
  char* const own = static_cast<char*>(memory) + OrderBytes(p);
  const auto bytes = static_cast<int64_t>(WorkerBytes(c));
  const int64_t work = (p.pixels() + p.k) * slices.size * kBorders;
  c.context.threads().ForEach(slices.count * p.n, kGrain / work + 1,
                              [&](int64_t index, int worker) {
                                kernel(call, PlaneScratch(p, slices, own + worker * bytes), index);
                              });
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t RunForward(const CpuCall<Problem>& call, void* scratch) {
  const Slices slices = ChoosePlanes(call, kForwardBlock);
  const bool stream = ShouldStream(call.p, slices, call.arguments);
  return RunPlanes(call, scratch, slices, stream, HWY_DYNAMIC_DISPATCH(PoolSlice));
}

mluOpStatus_t RunBackward(const CpuCall<Problem>& call, void* scratch) {
  return RunPlanes(call, scratch, ChoosePlanes(call, kBlock), false,
                   HWY_DYNAMIC_DISPATCH(ScatterSliceOf));
}

constexpr char kWhen[] = "at least one slice of 64 channels per thread";

constexpr CpuImplementation<Problem> kForward[] = {
    {"planes", kWhen, ShouldUsePlanes, PlanesBytes, RunForward, DescribePlanes<kForwardBlock>},
    {"transposed", "always", Always, NhwcCopyBytes, RunOnNhwcCopies<kForwardCpu>,
     DescribeNhwcCopies<kForwardCpu>},
    CpuImplementation<Problem>::ForDouble(RunOnNhwcCopies<kForwardCpu>, NhwcCopyBytes),
};
constexpr CpuImplementation<Problem> kBackward[] = {
    {"planes", kWhen, ShouldUsePlanes, PlanesBytes, RunBackward, DescribePlanes<kBlock>},
    {"transposed", "always", Always, NhwcCopyBytes, RunOnNhwcCopies<kBackwardCpu>,
     DescribeNhwcCopies<kBackwardCpu>},
    CpuImplementation<Problem>::ForDouble(RunOnNhwcCopies<kBackwardCpu>, NhwcCopyBytes),
};

}  // namespace

constexpr CpuOperator kNchwForwardCpu = Bind<MakeProblem, kForward>("border_align_nchw_forward");
constexpr CpuOperator kNchwBackwardCpu = Bind<MakeProblem, kBackward>("border_align_nchw_backward");

}  // namespace mluop::border_align
#endif  // HWY_ONCE
