// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU. An owner is a slice of one border's channels in one image. It
// adds the gradients of all boxes, batch by batch, into sums that are its own: the order of
// additions depends neither on threads nor on slices.
#include <algorithm>

#include "core/dtype.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/operators.h"
#include "ops/border_align/cpu/order.h"
#include "ops/border_align/cpu/slices.h"

#ifndef MLUOP_BORDER_ALIGN_BACKWARD_CALL_
#define MLUOP_BORDER_ALIGN_BACKWARD_CALL_
namespace mluop::border_align {

template <typename T>
struct BackwardCall {
  Problem p;
  const T* grad_output;   // [N, K, 4, C]
  const T* boxes;         // [N, K, 4]
  const int32_t* argmax;  // [N, K, 4, C]
  T* grad_input;          // [N, H, W, 4*C]
  Slices slices;
  const int32_t* order;  // of the boxes

  int64_t owners() const { return slices.count * p.n * kBorders; }
};

}  // namespace mluop::border_align
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu/backward.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/cpu/samples-inl.h"
#include "ops/border_align/cpu/scatter-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::StoreFloats;
using mluop::HWY_NAMESPACE::ZeroRow;

// Edges whose rows are asked for ahead: sorted, they lie anywhere. 0.85 of the time on
// [2, 25, 38, 1024], 0.8 in half.
constexpr int kAhead = 4;

// Where an owner adds: sums of strips of channels [H, W, ...], `strip_stride` elements apart,
// `stride` elements from pixel to pixel.
struct Sums {
  float* data;
  int64_t stride, strip_stride;
};

template <typename T>
HWY_INLINE void PrefetchRow(const T* from, int64_t count) {
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(64 / sizeof(T))) {
    hwy::Prefetch(from + i);
  }
}

// All boxes, for the owner's channels.
template <typename T>
HWY_INLINE void ScatterOwner(const BackwardCall<T>& call, const Owner& owner, const Sums& sums) {
  const Problem& p = call.p;
  const int strip = call.slices.strip;
  SampleTable table(p, owner.border, sums.stride);
  for (int64_t first = 0; first < p.k; first += kBatch) {
    const Batch batch = MakeBatch(p, call.order, owner, first);
    table.Start(call.boxes + owner.image * p.k * 4, batch);
    do {
      for (int c = 0; c < owner.channels; c += strip) {
        float* to = sums.data + c / strip * sums.strip_stride;
        for (int edge = 0; edge < batch.count; ++edge) {
          if (strip >= kStrip && edge + kAhead < batch.count) {
            const int64_t ahead = RowOffset(p, owner, batch.box[edge + kAhead]) + c;
            PrefetchRow(call.grad_output + ahead, strip);
            PrefetchRow(call.argmax + ahead, strip);
          }
          const int64_t at = RowOffset(p, owner, batch.box[edge]) + c;
          ScatterRow(p, table, edge, std::min(strip, owner.channels - c),
                     Row<T>{call.grad_output + at, call.argmax + at, to});
        }
      }
    } while (table.Advance());
  }
}

// Writes an owner's sums, rounded if half. sums: [strips, H, W, strip]
template <typename T>
HWY_INLINE void Unpack(const BackwardCall<T>& call, const Owner& owner, const float* sums) {
  T* to = call.grad_input + MapOffset(call.p, owner);
  const int strip = call.slices.strip;
  for (int64_t pixel = 0; pixel < call.p.pixels(); ++pixel, to += call.p.channels()) {
    for (int c = 0; c < owner.channels; c += strip) {
      const float* from = sums + (c / strip * call.p.pixels() + pixel) * strip;
      ForEach<float>(std::min(strip, owner.channels - c), [&](auto d, int64_t i) {
        StoreFloats(hn::LoadU(d, from + i), d, to + c + i);
      });
    }
  }
}

// Owners [begin, end) of [N, 4, slices]. sums: [strips, H, W, strip]
template <typename T>
HWY_INLINE void ScatterSlices(const BackwardCall<T>& call, float* HWY_RESTRICT sums, int64_t begin,
                              int64_t end) {
  const Slices& slices = call.slices;
  for (int64_t item = begin; item < end; ++item) {
    const Owner owner = MakeOwner(call.p, slices, item);
    ZeroRow(sums, call.p.pixels() * slices.size);
    ScatterOwner(call, owner, {sums, slices.strip, call.p.pixels() * slices.strip});
    Unpack(call, owner, sums);
  }
}

// The same into sums that hold zeros and are as large as grad_input: [N, H, W, 4*C].
template <typename T>
HWY_INLINE void ScatterWhole(const BackwardCall<T>& call, float* sums, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const Owner owner = MakeOwner(call.p, call.slices, item);
    ScatterOwner(call, owner,
                 {sums + MapOffset(call.p, owner), call.p.channels(), call.slices.strip});
  }
}

void SlicesFloat(const BackwardCall<float>& call, float* sums, int64_t begin, int64_t end) {
  ScatterSlices(call, sums, begin, end);
}
void SlicesHalf(const BackwardCall<Half>& call, float* sums, int64_t begin, int64_t end) {
  ScatterSlices(call, sums, begin, end);
}
void WholeFloat(const BackwardCall<float>& call, float* sums, int64_t begin, int64_t end) {
  ScatterWhole(call, sums, begin, end);
}
void WholeHalf(const BackwardCall<Half>& call, float* sums, int64_t begin, int64_t end) {
  ScatterWhole(call, sums, begin, end);
}
void Zero(float* to, int64_t begin, int64_t end) { ZeroRow(to + begin, end - begin); }
void Round(const float* from, Half* to, int64_t begin, int64_t end) {
  ForEach<float>(end - begin, [&](auto d, int64_t i) {
    StoreFloats(hn::LoadU(d, from + begin + i), d, to + begin + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(SlicesFloat);
HWY_EXPORT(SlicesHalf);
HWY_EXPORT(WholeFloat);
HWY_EXPORT(WholeHalf);
HWY_EXPORT(Zero);
HWY_EXPORT(Round);

float* Floats(CpuContext& context, int64_t count) {
  return static_cast<float*>(context.Scratch(static_cast<size_t>(count) * sizeof(float)));
}

template <typename T>
BackwardCall<T> MakeCall(const Arguments& a, CpuContext& context) {
  const Problem p = MakeProblem(a);
  return {p,
          a.In<T>("grad_output"),
          a.In<T>("boxes"),
          a.In<int32_t>("argmax_idx"),
          a.Out<T>("grad_input"),
          ChooseSlices(p, context.threads().num_threads()),
          nullptr};
}

// Many samples: each worker has packed sums of its own, which it writes out slice by slice.
template <typename T, class Function>
void BackwardSlices(BackwardCall<T> call, CpuContext& context, Function kernel) {
  const Problem& p = call.p;
  ThreadPool& threads = context.threads();
  const int64_t size = WholeLines(p.pixels() * call.slices.size);
  float* scratch = Floats(context, OrderSize(p) + size * threads.num_threads());
  float* sums = scratch + OrderSize(p);
  call.order = SortAll(p, call.boxes, scratch, threads);
  threads.For(call.owners(), kGrain / ((p.pixels() + p.k) * call.slices.size) + 1,
              [&](int64_t begin, int64_t end, int worker) {
                kernel(call, sums + worker * size, begin, end);
              });
}

// Few samples: almost all is filling, which is best done from end to end.
template <typename T, class Function>
void BackwardWhole(const BackwardCall<T>& call, float* sums, CpuContext& context, Function kernel) {
  const auto zero = HWY_DYNAMIC_DISPATCH(Zero);
  context.threads().For(call.p.elements(), kFillGrain,
                        [&](int64_t begin, int64_t end, int) { zero(sums, begin, end); });
  context.threads().For(call.owners(), kGrain / (int64_t{call.p.k} * call.slices.size) + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(call, sums, begin, end); });
}

void BackwardWholeHalf(const BackwardCall<Half>& call, CpuContext& context) {
  float* sums = Floats(context, call.p.elements());
  BackwardWhole(call, sums, context, HWY_DYNAMIC_DISPATCH(WholeHalf));
  const auto round = HWY_DYNAMIC_DISPATCH(Round);
  context.threads().For(call.p.elements(), kFillGrain, [&](int64_t begin, int64_t end, int) {
    round(sums, call.grad_input, begin, end);
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, CpuContext& context) {
  const Problem p = MakeProblem(arguments);
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    const auto call = MakeCall<float>(arguments, context);
    if (FewSamples(p) || IsHuge(p)) {
      BackwardWhole(call, call.grad_input, context, HWY_DYNAMIC_DISPATCH(WholeFloat));
    } else {
      BackwardSlices(call, context, HWY_DYNAMIC_DISPATCH(SlicesFloat));
    }
  } else {
    const auto call = MakeCall<Half>(arguments, context);
    const bool few_channels = IsHuge(p) && p.elements() <= kHugeChannels * p.pixels();
    if ((FewSamples(p) && p.elements() <= kMostFloats) || few_channels) {
      BackwardWholeHalf(call, context);
    } else {
      BackwardSlices(call, context, HWY_DYNAMIC_DISPATCH(SlicesHalf));
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::border_align
#endif  // HWY_ONCE
