// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices, implementations "large" and "double". A thread owns one
// channel in a band of rows of the map, and adds boxes in ascending order. Offsets are 64-bit. Half
// gradients are summed in a float map in scratch.
#include "cuda/for_each.h"
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {
namespace {

// Bands: enough threads to occupy the device with few channels. Every band reads all
// argmax.
constexpr int kBands = 16;

template <typename T>
struct Gradients {
  const T *gradient, *boxes;
  const int32_t* argmax;
  RealOf<T>* map;  // grad_input, or its sums
};

// Adds the gradients of owner `i` of [N, kBands, 4*C] to the neighbours of their samples.
// Neighbouring owners have neighbouring channels.
template <typename T>
__device__ void ScatterOwner(const Problem& p, const Gradients<T>& t, int64_t i) {
  using Real = RealOf<T>;
  const int64_t channel = i % p.channels(), image = i / p.channels() / kBands;
  const int64_t band = i / p.channels() % kBands;
  const int border = static_cast<int>(channel / p.c);
  const bool horizontal = border == kTop || border == kBottom;
  const auto begin = static_cast<int>(band * p.h / kBands);
  const auto end = static_cast<int>((band + 1) * p.h / kBands);
  if (begin == end) return;
  Real* map = t.map + image * p.pixels() * p.channels() + channel;
  for (int64_t box = image * p.k; box < (image + 1) * p.k; ++box) {
    const int32_t chosen = t.argmax[box * p.channels() + channel];
    if (chosen < 0 || chosen > p.pool_size) continue;
    const EdgeOf<Real> edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
    Real position = edge.start;
    for (int32_t sample = 0; sample < chosen; ++sample) position += edge.step;
    const NeighboursOf<Real> x = FindNeighbours(horizontal ? position : edge.fixed, p.w);
    const NeighboursOf<Real> y = FindNeighbours(horizontal ? edge.fixed : position, p.h);
    if (!x.inside || !y.inside) continue;
    const Real gradient = AsReal(t.gradient[box * p.channels() + channel]);
    const auto add = [&](int row, int column, Real weight) {
      if (row < begin || row >= end) return;
      map[(int64_t{row} * p.w + column) * p.channels()] += weight * gradient;
    };
    add(y.low, x.low, y.low_weight * x.low_weight);
    add(y.low, x.high, y.low_weight * x.high_weight);
    add(y.high, x.low, y.high_weight * x.low_weight);
    add(y.high, x.high, y.high_weight * x.high_weight);
  }
}

// map: of the sums
template <typename T>
mluOpStatus_t Run(const CudaCall<Problem>& call, RealOf<T>* map) {
  const Arguments& a = call.arguments;
  const Problem p = call.p;
  const Gradients<T> t = {a.In<T>("grad_output"), a.In<T>("boxes"), a.In<int32_t>("argmax_idx"),
                          map};
  call.context.Zero(map, static_cast<size_t>(p.elements()) * sizeof(*map));
  ForEach(call.context, int64_t{p.n} * kBands * p.channels(),
          [=] __device__(int64_t i) { ScatterOwner(p, t, i); });
  return call.context.status();
}

}  // namespace

size_t LargeBackwardBytes(const CudaCall<Problem>& call) {
  return IsHalf(call) ? static_cast<size_t>(call.p.elements()) * sizeof(float) : 0;
}
mluOpStatus_t RunLargeBackward(const CudaCall<Problem>& call, void* scratch) {
  if (!IsHalf(call)) return Run<float>(call, call.arguments.Out<float>("grad_input"));
  auto* sums = static_cast<float*>(scratch);
  auto* out = call.arguments.Out<__half>("grad_input");
  Run<__half>(call, sums);
  ForEach(call.context, call.p.elements(),
          [=] __device__(int64_t i) { out[i] = __float2half_rn(sums[i]); });
  return call.context.status();
}
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void*) {
  return Run<double>(call, call.arguments.Out<double>("grad_input"));
}

}  // namespace mluop::border_align
