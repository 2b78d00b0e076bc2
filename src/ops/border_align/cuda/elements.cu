// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices, a thread per result. It serves any number of channels and
// samples ("elements"), tensors with 2^31 elements and more ("large"), and tensors of type double.
#include <algorithm>
#include <type_traits>

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
__global__ void PoolResults(const __grid_constant__ ForwardTensors<T> t, int64_t results) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < results; i += stride) {
    PoolResult(t, static_cast<Offset>(i));
  }
}

template <typename T, typename Offset>
mluOpStatus_t Launch(const CudaCall<Problem>& call) {
  constexpr int kThreads = 256;
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  const int64_t results = int64_t{call.p.n} * ResultElements(call.p);
  call.context.Launch(PoolResults<T, Offset>,
                      {std::min(CeilDiv(results, kThreads), kMostBlocks), kThreads},
                      ForwardTensors<T>(call), results);
  return call.context.status();
}

}  // namespace

mluOpStatus_t RunElements(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { Launch<decltype(element), int>(call); });
}
mluOpStatus_t RunLarge(const CudaCall<Problem>& call, void*) {
  return WithType(call, [&](auto element) { Launch<decltype(element), int64_t>(call); });
}
mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void*) {
  return Launch<double, int64_t>(call);
}

}  // namespace mluop::border_align
