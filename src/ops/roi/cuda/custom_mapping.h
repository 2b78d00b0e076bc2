// SPDX-License-Identifier: Apache-2.0
// The gradient of a map of pooled RoIs on CUDA devices for any mapping and any size: a slow
// fallback with 64-bit offsets. After the other kernels of a call it overwrites their result if one
// of them has set a flag.
#pragma once

#include <algorithm>

#include "cuda/context.h"
#include "cuda/pdl.h"
#include "ops/roi/cuda/layout.h"

namespace mluop::roi {

#if defined(__CUDACC__)

// Returns the gradient of one element of the map. Adds RoIs, bins and output channels in ascending
// order. Family::Scale(gradient, area) divides a gradient among the pixels of its bin.
template <class Family, bool kNchw, class Problem, typename T>
__device__ T SumElement(const Problem& p, const PooledGradients<T>& t, int64_t element) {
  const int64_t pixels = int64_t{p.h} * p.w, channels = p.channels();
  const int64_t image = element / pixels / channels;
  const int64_t channel = kNchw ? element / pixels % channels : element % channels;
  const int64_t pixel = kNchw ? element % pixels : element / channels % pixels;
  const auto y = static_cast<int32_t>(pixel / p.w), x = static_cast<int32_t>(pixel % p.w);
  T sum = 0;
  for (int64_t r = 0; r < p.rois; ++r) {
    const auto place = PlaceRoi(p, t.rois + r * 5);
    if (place.image != image) continue;
    for (int bin = 0; bin < p.bins(); ++bin) {
      const Span rows = place.Rows(p, bin / p.bins_w());
      const Span columns = place.Columns(p, bin % p.bins_w());
      if (!rows.Has(y) || !columns.Has(x)) continue;
      const auto area = static_cast<T>(int64_t{rows.size()} * columns.size());
      for (int64_t c = 0; c < p.output_dim; ++c) {
        const int64_t i = ElementLayout<kNchw>::Pooled(p, r, bin, c);
        if (t.mapping[i] == channel) sum += Family::Scale(t.pooled[i], area);
      }
    }
  }
  return sum;
}

inline constexpr int kCustomThreads = 256;

// Without flags it always runs.
template <class Family, bool kNchw, class Problem, typename T>
__global__ void __launch_bounds__(kCustomThreads)
    SumCustomMapping(Problem p, PooledGradients<T> t, const int* flags, int count) {
  WaitForPredecessor();
  bool custom = count == 0;
  for (int i = threadIdx.x; i < count; i += kCustomThreads) custom |= flags[i] != 0;
  if (__syncthreads_or(custom) == 0) return;
  const int64_t first = int64_t{blockIdx.x} * kCustomThreads + threadIdx.x;
  for (int64_t i = first; i < p.map_elements(); i += int64_t{gridDim.x} * kCustomThreads) {
    t.map[i] = SumElement<Family, kNchw>(p, t, i);
  }
}

// flags: [count], set by the kernels before. Does nothing in families without a mapping.
template <class Family, bool kNchw, class Problem, typename T>
void RunCustomMapping(const CudaCall<Problem>& call, const PooledGradients<T>& t, const int* flags,
                      int64_t count) {
  if constexpr (Family::kHasMapping) {
    const int64_t blocks = std::min(CeilDiv(call.p.map_elements(), kCustomThreads),
                                    int64_t{8} * call.context.sm_count());
    call.context.Launch(SumCustomMapping<Family, kNchw, Problem, T>,
                        Grid{blocks, kCustomThreads, 0, /*pdl=*/true}, call.p, t, flags,
                        static_cast<int>(count));
  }
}

// The whole gradient, for sizes that no other implementation serves.
template <class Family, bool kNchw, typename T, class Problem>
mluOpStatus_t RunAnyMapping(const CudaCall<Problem>& call, void*) {
  RunCustomMapping<Family, kNchw>(call, Family::template Gradients<T>(call), nullptr, 0);
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
