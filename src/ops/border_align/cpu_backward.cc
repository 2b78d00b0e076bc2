// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU. An owner is a slice of one border's channels in one image. It
// adds the gradients of all boxes, batch by batch, into sums that are its own: the order of
// additions depends neither on threads nor on slices.
#include <algorithm>

#include "core/dtype.h"
#include "ops/border_align/cpu.h"
#include "ops/border_align/slices.h"

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

  int64_t owners() const { return slices.count * p.n * kBorders; }
};

}  // namespace mluop::border_align
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/border_align/cpu_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/border_align/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::border_align {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::StoreFloats;
using mluop::HWY_NAMESPACE::ZeroRow;

// Adds the gradients of one edge's samples in the table. Neighbouring channels seldom choose the
// same sample, so each goes its own way.
template <typename T>
HWY_INLINE void Scatter(const SampleTable& table, int edge, const T* HWY_RESTRICT gradient,
                        const int32_t* HWY_RESTRICT argmax, int64_t channels, float* sums) {
  const auto count = static_cast<uint64_t>(table.count());
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t i = argmax[c] - table.begin();
    if (static_cast<uint64_t>(i) >= count) continue;  // negative ones are huge
    const Sample s = table.Get(edge, i);
    if (!s.inside) continue;
    const float g = ToFloat(gradient[c]);
    for (int j = 0; j < 4; ++j) sums[s.offset[j] + c] += s.weight[j] * g;
  }
}

// All boxes, for the owner's channels. sums: [H, W, ...], `stride` elements
// from pixel to pixel.
template <typename T>
HWY_INLINE void ScatterOwner(const BackwardCall<T>& call, const Owner& owner, float* sums,
                             int64_t stride) {
  const Problem& p = call.p;
  SampleTable table(p, owner.border, stride);
  for (int64_t box = 0; box < p.k; box += kBatch) {
    const auto count = static_cast<int>(std::min<int64_t>(kBatch, p.k - box));
    table.Start(call.boxes + (owner.image * p.k + box) * 4, count);
    do {
      for (int edge = 0; edge < count; ++edge) {
        const int64_t row = RowOffset(p, owner, box + edge);
        Scatter(table, edge, call.grad_output + row, call.argmax + row, owner.channels, sums);
      }
    } while (table.Advance());
  }
}

// Owners [begin, end) of [N, 4, slices]. sums: [H, W, slice].
template <typename T>
HWY_INLINE void ScatterSlices(const BackwardCall<T>& call, float* HWY_RESTRICT sums, int64_t begin,
                              int64_t end) {
  const Problem& p = call.p;
  const int slice = call.slices.size;
  for (int64_t item = begin; item < end; ++item) {
    const Owner owner = MakeOwner(p, call.slices, item);
    ZeroRow(sums, p.pixels() * slice);
    ScatterOwner(call, owner, sums, slice);
    T* to = call.grad_input + MapOffset(p, owner);
    for (int64_t pixel = 0; pixel < p.pixels(); ++pixel, to += p.channels()) {
      const float* from = sums + pixel * slice;
      ForEach<float>(owner.channels,
                     [&](auto d, int64_t c) { StoreFloats(hn::LoadU(d, from + c), d, to + c); });
    }
  }
}

// The same into sums that hold zeros and are as large as grad_input: [N, H, W, 4*C].
template <typename T>
HWY_INLINE void ScatterWhole(const BackwardCall<T>& call, float* sums, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    const Owner owner = MakeOwner(call.p, call.slices, item);
    ScatterOwner(call, owner, sums + MapOffset(call.p, owner), call.p.channels());
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

constexpr int64_t kFillGrain = 65536;

float* Floats(Context& context, int64_t count) {
  return static_cast<float*>(context.Scratch(static_cast<size_t>(count) * sizeof(float)));
}

template <typename T>
BackwardCall<T> MakeCall(const Arguments& a, Context& context) {
  const Problem p = MakeProblem(a);
  return {p,
          a.In<T>("grad_output"),
          a.In<T>("boxes"),
          a.In<int32_t>("argmax_idx"),
          a.Out<T>("grad_input"),
          ChooseSlices(p, context.threads().num_threads())};
}

// Many samples: each worker has packed sums of its own, which it writes out slice by slice.
template <typename T, class Function>
void BackwardSlices(const BackwardCall<T>& call, Context& context, Function kernel) {
  const Problem& p = call.p;
  ThreadPool& threads = context.threads();
  const int64_t size = WholeLines(p.pixels() * call.slices.size);
  float* sums = Floats(context, size * threads.num_threads());
  threads.For(call.owners(), kGrain / ((p.pixels() + p.k) * call.slices.size) + 1,
              [&](int64_t begin, int64_t end, int worker) {
                kernel(call, sums + worker * size, begin, end);
              });
}

// Few samples: almost all is filling, which is best done from end to end.
template <typename T, class Function>
void BackwardWhole(const BackwardCall<T>& call, float* sums, Context& context, Function kernel) {
  const auto zero = HWY_DYNAMIC_DISPATCH(Zero);
  context.threads().For(call.p.elements(), kFillGrain,
                        [&](int64_t begin, int64_t end, int) { zero(sums, begin, end); });
  context.threads().For(call.owners(), kGrain / (int64_t{call.p.k} * call.slices.size) + 1,
                        [&](int64_t begin, int64_t end, int) { kernel(call, sums, begin, end); });
}

void BackwardWholeHalf(const BackwardCall<Half>& call, Context& context) {
  float* sums = Floats(context, call.p.elements());
  BackwardWhole(call, sums, context, HWY_DYNAMIC_DISPATCH(WholeHalf));
  const auto round = HWY_DYNAMIC_DISPATCH(Round);
  context.threads().For(call.p.elements(), kFillGrain, [&](int64_t begin, int64_t end, int) {
    round(sums, call.grad_input, begin, end);
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context) {
  const Problem p = MakeProblem(arguments);
  if (arguments.Type() == MLUOP_DTYPE_FLOAT) {
    const auto call = MakeCall<float>(arguments, context);
    if (FewSamples(p)) {
      BackwardWhole(call, call.grad_input, context, HWY_DYNAMIC_DISPATCH(WholeFloat));
    } else {
      BackwardSlices(call, context, HWY_DYNAMIC_DISPATCH(SlicesFloat));
    }
  } else {
    const auto call = MakeCall<Half>(arguments, context);
    if (FewSamples(p) && p.elements() <= kMostFloats) {
      BackwardWholeHalf(call, context);
    } else {
      BackwardSlices(call, context, HWY_DYNAMIC_DISPATCH(SlicesHalf));
    }
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::border_align
#endif  // HWY_ONCE
