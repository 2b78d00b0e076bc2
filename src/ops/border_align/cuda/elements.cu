// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices, a thread per result: any number of channels and samples
// ("elements"), tensors with 2^31 elements and more ("large"), and tensors of type double.
#include "cuda/for_each.h"
#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"

namespace mluop::border_align {
namespace {

// The maximum of one channel of an edge. `result` counts [N, K, 4, C]; Offset: of all tensors.
template <typename T, typename Offset>
__device__ void PoolResult(const ForwardTensors<T>& t, Offset result) {
  using Real = RealOf<T>;
  const Problem& p = t.p;
  const auto pixel = static_cast<Offset>(p.channels()), row = p.w * pixel, box = result / pixel;
  const auto border = static_cast<int>(result % pixel / p.c);
  const bool horizontal = border == kTop || border == kBottom;
  const Offset fixed_stride = horizontal ? row : pixel, moving_stride = horizontal ? pixel : row;
  const EdgeOf<Real> edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
  const NeighboursOf<Real> line = FindNeighbours(edge.fixed, horizontal ? p.h : p.w);
  const T* input = t.input + box / p.k * (p.h * row) + result % pixel;
  const T *low = input + line.low * fixed_stride, *high = input + line.high * fixed_stride;
  Real position = edge.start, best = 0;
  int32_t index = 0;
  for (int i = 0; i < p.samples(); ++i, position += edge.step) {
    const NeighboursOf<Real> at = FindNeighbours(position, horizontal ? p.w : p.h);
    const bool odd_first = at.low % 2 != 0;
    const Offset even = (odd_first ? at.high : at.low) * moving_stride;
    const Offset odd = (odd_first ? at.low : at.high) * moving_stride;
    const Real even_weight = odd_first ? at.high_weight : at.low_weight;
    const Real odd_weight = odd_first ? at.low_weight : at.high_weight;
    Real value = 0;
    if (line.inside && at.inside) {
      value = even_weight * line.low_weight * AsReal(low[even]);
      value = fma(even_weight * line.high_weight, AsReal(high[even]), value);
      value = fma(odd_weight * line.low_weight, AsReal(low[odd]), value);
      value = fma(odd_weight * line.high_weight, AsReal(high[odd]), value);
    }
    if (i == 0 || value > best) {
      best = value;
      index = i;
    }
  }
  t.output[result] = static_cast<T>(PositiveZero(best));
  t.argmax[result] = index;
}

template <typename T, typename Offset>
mluOpStatus_t PoolResults(const CudaCall<Problem>& call) {
  const ForwardTensors<T> t(call);
  ForEach(call.context, int64_t{call.p.n} * ResultElements(call.p),
          [=] __device__(int64_t i) { PoolResult(t, static_cast<Offset>(i)); });
  return call.context.status();
}

}  // namespace

mluOpStatus_t RunElements(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { PoolResults<decltype(element), int>(call); });
}
mluOpStatus_t RunLarge(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { PoolResults<decltype(element), int64_t>(call); });
}
mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  return PoolResults<double, int64_t>(call);
}

}  // namespace mluop::border_align
