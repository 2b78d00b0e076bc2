// SPDX-License-Identifier: Apache-2.0
// border_align backward on the CPU. An owner is a slice of one border's channels in one image: it walks all
// boxes in ascending order and adds into sums of its own, so that the order of additions depends neither
// on threads nor on slices.
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

// Adds the gradients of one edge's samples in the table. Neighbouring channels seldom choose the same
// sample, so each goes its own way.
template <typename T>
HWY_INLINE void Scatter(const SampleTable& table, int edge, const T* HWY_RESTRICT gradient,
                        const int32_t* HWY_RESTRICT argmax, int64_t channels, float* sums) {
  const auto count = static_cast<uint64_t>(table.count());
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t i = argmax[c] - table.begin();
    if (static_cast<uint64_t>(i) >= count) continue;  // negative ones are huge
    const Sample s = table.Get(edge, i);
    if (!s.inside) continue;
    const float g = Value(gradient[c]);
    for (int j = 0; j < 4; ++j) sums[s.offset[j] + c] += s.weight[j] * g;
  }
}

// All boxes of the owner, in an order that depends on nothing else. sums: [H, W, slice].
template <typename T>
HWY_INLINE void ScatterOwner(const BackwardCall<T>& call, const Owner& owner, float* sums) {
  const Problem& p = call.p;
  SampleTable table(p, owner.border, call.slices.size);
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

// Owners [begin, end) of [N, 4, slices].
template <typename T>
HWY_INLINE void ScatterSlices(const BackwardCall<T>& call, float* HWY_RESTRICT sums, int64_t begin,
                              int64_t end) {
  const Problem& p = call.p;
  for (int64_t item = begin; item < end; ++item) {
    const Owner owner = MakeOwner(p, call.slices, item);
    ZeroRow(sums, p.pixels() * call.slices.size);
    ScatterOwner(call, owner, sums);
    T* to = call.grad_input + MapOffset(p, owner);
    for (int64_t pixel = 0; pixel < p.pixels(); ++pixel, to += p.channels()) {
      const float* from = sums + pixel * call.slices.size;
      ForEach<float>(owner.channels,
                     [&](auto d, int64_t c) { StoreFloats(hn::LoadU(d, from + c), d, to + c); });
    }
  }
}

void BackwardFloat(const BackwardCall<float>& call, float* sums, int64_t begin, int64_t end) {
  ScatterSlices(call, sums, begin, end);
}
void BackwardHalf(const BackwardCall<Half>& call, float* sums, int64_t begin, int64_t end) {
  ScatterSlices(call, sums, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::border_align
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::border_align {
namespace {

HWY_EXPORT(BackwardFloat);
HWY_EXPORT(BackwardHalf);

// Elements of grad_output and grad_input that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 8192;

template <typename T, class Function>
mluOpStatus_t Backward(const Arguments& a, Context& context, Function kernel) {
  const Problem p = MakeProblem(a);
  ThreadPool& threads = context.threads();
  const BackwardCall<T> call = {p,
                                a.In<T>("grad_output"),
                                a.In<T>("boxes"),
                                a.In<int32_t>("argmax_idx"),
                                a.Out<T>("grad_input"),
                                ChooseSlices(p, threads.num_threads())};
  const int64_t size = (p.pixels() * call.slices.size + 15) / 16 * 16;  // whole cache lines
  auto* sums = static_cast<float*>(
      context.Scratch(static_cast<size_t>(size * threads.num_threads()) * sizeof(float)));
  const int64_t work = (p.pixels() + p.k) * call.slices.size;
  threads.For(call.slices.count * p.n * kBorders, kGrain / work + 1,
              [&](int64_t begin, int64_t end, int worker) {
                kernel(call, sums + worker * size, begin, end);
              });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context) {
  if (arguments.Type() == MLUOP_DTYPE_HALF) {
    return Backward<Half>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardHalf));
  }
  return Backward<float>(arguments, context, HWY_DYNAMIC_DISPATCH(BackwardFloat));
}

}  // namespace mluop::border_align
#endif  // HWY_ONCE
