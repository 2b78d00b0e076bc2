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

__device__ bool IsHorizontal(int border) { return border == kTop || border == kBottom; }

// The neighbours of a sample on both axes.
template <typename Real>
struct Sample {
  NeighboursOf<Real> x, y;

  __device__ Sample(const Problem& p, const EdgeOf<Real>& edge, int border, Real position)
      : x(FindNeighbours(IsHorizontal(border) ? position : edge.fixed, p.w)),
        y(FindNeighbours(IsHorizontal(border) ? edge.fixed : position, p.h)) {}

  __device__ bool inside() const { return x.inside && y.inside; }
};

template <typename T>
struct Gradients {
  const T *gradient, *boxes;
  const int32_t* argmax;
  RealOf<T>* map;  // grad_input, or its sums
};

// Adds a gradient to the neighbours of a sample that lie in rows [begin, end).
template <typename Real>
__device__ void Scatter(const Problem& p, const Sample<Real>& at, int begin, int end, Real gradient,
                        Real* map) {
  const auto add = [&](int row, int column, Real weight) {
    if (row >= begin && row < end) {
      map[(int64_t{row} * p.w + column) * p.channels()] += weight * gradient;
    }
  };
  add(at.y.low, at.x.low, at.y.low_weight * at.x.low_weight);
  add(at.y.low, at.x.high, at.y.low_weight * at.x.high_weight);
  add(at.y.high, at.x.low, at.y.high_weight * at.x.low_weight);
  add(at.y.high, at.x.high, at.y.high_weight * at.x.high_weight);
}

// Owner `i` of [N, kBands, 4*C]. Neighbouring owners have neighbouring channels.
template <typename T>
__device__ void ScatterOwner(const Problem& p, const Gradients<T>& t, int64_t i) {
  using Real = RealOf<T>;
  const int64_t channel = i % p.channels(), image = i / p.channels() / kBands;
  const int64_t band = i / p.channels() % kBands;
  const int border = static_cast<int>(channel / p.c);
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
    const Sample<Real> at(p, edge, border, position);
    if (!at.inside()) continue;
    Scatter(p, at, begin, end, AsReal(t.gradient[box * p.channels() + channel]), map);
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
