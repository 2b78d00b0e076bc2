// SPDX-License-Identifier: Apache-2.0
// The gradient of a map of pooled RoIs for mappings that are not forward's, on CUDA devices: a slow
// fallback. It runs after the other kernels of a call and overwrites their result if one of them
// has set a flag.
#pragma once

#include <algorithm>

#include "cuda/context.h"
#include "cuda/pdl.h"
#include "ops/roi/cuda/layout.h"

namespace mluop::roi {

#if defined(__CUDACC__)

// Pixel i of [N, H, W].
struct MapPixel {
  int64_t image;
  int32_t y, x;

  template <class Problem>
  __device__ MapPixel(const Problem& p, int64_t i)
      : image(i / p.w / p.h),
        y(static_cast<int32_t>(i / p.w % p.h)),
        x(static_cast<int32_t>(i % p.w)) {}
};

// Returns the gradient of one element of the map. Adds RoIs, bins and output channels in ascending
// order. Family::Scale(gradient, area) divides a gradient among the pixels of its bin.
template <class Family, bool kNchw, class Problem, typename T>
__device__ T SumElement(const Problem& p, const PooledGradients<T>& t, const MapPixel& pixel,
                        int64_t channel) {
  T sum = 0;
  for (int64_t r = 0; r < p.rois; ++r) {
    const auto place = PlaceRoi(p, t.rois + r * 5);
    if (place.image != pixel.image) continue;
    for (int bin = 0; bin < p.bins(); ++bin) {
      const Span rows = place.Rows(p, bin / p.bins_w());
      const Span columns = place.Columns(p, bin % p.bins_w());
      if (!rows.Has(pixel.y) || !columns.Has(pixel.x)) continue;
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

// A block owns a pixel at a time.
template <class Family, bool kNchw, class Problem, typename T>
__global__ void __launch_bounds__(kCustomThreads)
    SumCustomMapping(Problem p, PooledGradients<T> t, const int* flags, int count) {
  WaitForPredecessor();
  bool custom = false;
  for (int i = threadIdx.x; i < count; i += kCustomThreads) custom |= flags[i] != 0;
  if (__syncthreads_or(custom) == 0) return;
  for (int64_t i = blockIdx.x; i < int64_t{p.n} * p.h * p.w; i += gridDim.x) {
    const MapPixel pixel(p, i);
    const int64_t place = int64_t{pixel.y} * p.w + pixel.x;
    for (int64_t channel = threadIdx.x; channel < p.channels(); channel += kCustomThreads) {
      t.map[ElementLayout<kNchw>::Map(p, pixel.image, place, channel)] =
          SumElement<Family, kNchw>(p, t, pixel, channel);
    }
  }
}

// flags: [count], set by the kernels before. Does nothing in families without a mapping.
template <class Family, bool kNchw, class Problem, typename T>
void RunCustomMapping(const CudaCall<Problem>& call, const PooledGradients<T>& t, const int* flags,
                      int64_t count) {
  if constexpr (Family::kHasMapping) {
    const int64_t pixels = int64_t{call.p.n} * call.p.h * call.p.w;
    const int64_t blocks = std::min(pixels, int64_t{4} * call.context.sm_count());
    call.context.Launch(SumCustomMapping<Family, kNchw, Problem, T>,
                        Grid{blocks, kCustomThreads, 0, /*pdl=*/true}, call.p, t, flags,
                        static_cast<int>(count));
  }
}

#endif  // __CUDACC__

}  // namespace mluop::roi
