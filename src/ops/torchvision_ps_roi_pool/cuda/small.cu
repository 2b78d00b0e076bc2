// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices, small maps: one kernel.
#include "ops/roi/cuda/small_map.h"
#include "ops/torchvision_ps_roi_pool/cuda/backward.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, Gradients t, SmallMap map) {
  const SmallMap::Part part = map.PartOf(blockIdx.x);
  SmallMapSums sums(map);
  sums.ReadRois([&](int r) {
    RoiShare share = {};
    const float* grads = t.grad_output + r * p.channels() + part.channel * p.bins() + part.bin;
#pragma unroll
    for (int k = 0; k < SmallMap::kChannels; ++k) {
      if (k < part.channels) share.values[k] = __ldg(grads + k * p.bins());
    }
    const Place place = PlaceOf(p, t.rois + r * 5);
    if (place.image != part.image) return share;
    share.Divide(BinSpan(place.y, part.bin / p.pooled_w, p.h),
                 BinSpan(place.x, part.bin % p.pooled_w, p.w));
    return share;
  });
  sums.Sum([&](int y, int x, int first, float2 sum) {
    if (first >= part.channels) return;
    float* to = t.grad_input + p.Plane(part.image, part.channel + first, part.bin) + y * p.w + x;
    *to = sum.x;
    if (first + 1 < part.channels) to[p.bins() * p.pixels()] = sum.y;
  });
}

constexpr int64_t kMostRois = 1024;  // fit into shared memory

}  // namespace

bool BackwardSmall(const Problem& p, const Gradients& t, CudaContext& context) {
  if (!IsSmallMap(p.h, p.w, p.rois, kMostRois)) return false;
  const SmallMap map = {p.n,
                        static_cast<int>(p.h),
                        static_cast<int>(p.w),
                        static_cast<int>(p.bins()),
                        static_cast<int>(p.output_dim),
                        static_cast<int>(p.rois)};
  if (!HasFewBlocks(map, context)) return false;
  context.Launch(SumSmallMap, Grid{map.Blocks(), SmallMap::kThreads, map.SharedBytes()}, p, t, map);
  return true;
}

}  // namespace mluop::torchvision_ps_roi_pool
