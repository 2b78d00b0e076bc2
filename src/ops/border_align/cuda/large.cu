// SPDX-License-Identifier: Apache-2.0
// border_align forward on CUDA devices, implementation "large": a thread computes one result, with
// 64-bit offsets. The others have 32-bit offsets within an image.
#include <algorithm>

#include "ops/border_align/cuda/kernels.h"
#include "ops/border_align/cuda/pool.h"

namespace mluop::border_align {
namespace {

// Computes one result of [N, K, 4, C], as PoolResult in forward.cu.
template <typename T>
__device__ void PoolLargeResult(const ForwardTensors<T>& t, int64_t result) {
  const Problem& p = t.p;
  const int64_t pixel = p.channels(), box = result / pixel, row = p.w * pixel;
  const int border = static_cast<int>(result % pixel / p.c);
  const bool horizontal = border == kTop || border == kBottom;
  const int64_t fixed_stride = horizontal ? row : pixel, moving_stride = horizontal ? pixel : row;
  const Edge edge = MakeEdge(LoadBox(t.boxes, box), border, p.pool_size);
  const Neighbours line = FindNeighbours(edge.fixed, horizontal ? p.h : p.w);
  const T* input = t.input + box / p.k * (p.h * row) + result % pixel;
  const T *low = input + line.low * fixed_stride, *high = input + line.high * fixed_stride;
  float position = edge.start, best = 0;
  int32_t index = 0;
  for (int i = 0; i < p.samples(); ++i, position += edge.step) {
    const Neighbours at = FindNeighbours(position, horizontal ? p.w : p.h);
    const bool odd_first = at.low % 2 != 0;
    const int64_t even = (odd_first ? at.high : at.low) * moving_stride;
    const int64_t odd = (odd_first ? at.low : at.high) * moving_stride;
    const float even_weight = odd_first ? at.high_weight : at.low_weight;
    const float odd_weight = odd_first ? at.low_weight : at.high_weight;
    float value = 0;
    if (line.inside && at.inside) {
      value = even_weight * line.low_weight * AsFloat(low[even]);
      value = fmaf(even_weight * line.high_weight, AsFloat(high[even]), value);
      value = fmaf(odd_weight * line.low_weight, AsFloat(low[odd]), value);
      value = fmaf(odd_weight * line.high_weight, AsFloat(high[odd]), value);
    }
    if (i == 0 || value > best) {
      best = value;
      index = i;
    }
  }
  AssignMaximum(best, t.output[result]);
  t.argmax[result] = index;
}

template <typename T>
__global__ void PoolLargeResults(const __grid_constant__ ForwardTensors<T> t, int64_t results) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < results; i += stride) {
    PoolLargeResult(t, i);
  }
}

}  // namespace

mluOpStatus_t RunLarge(const CudaCall<Problem>& call, void*) {
  constexpr int kThreads = 256;
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  const int64_t results = int64_t{call.p.n} * ResultElements(call.p);
  return WithType(call, [&](auto element) {
    using T = decltype(element);
    const int64_t blocks = std::min(CeilDiv(results, kThreads), kMostBlocks);
    call.context.Launch(PoolLargeResults<T>, {blocks, kThreads}, ForwardTensors<T>(call), results);
  });
}

}  // namespace mluop::border_align
