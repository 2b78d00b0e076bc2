// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on CUDA devices, small maps: one kernel.
#include "ops/roi/cuda/small_map.h"
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"
#include "ops/torchvision_ps_roi_pool/cuda/tuning.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using roi::RoiGradient;
using roi::SmallMap;

__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, Gradients t, SmallMap map) {
  const SmallMap::BlockTile tile = map.TileOf(blockIdx.x);
  roi::SmallMapSums sums(map);
  sums.ReadRois([&](int r) {
    RoiGradient scaled_grad = {};
    const float* grads = t.grad_output + r * p.channels() + tile.channel * p.bins() + tile.bin;
#pragma unroll
    for (int k = 0; k < SmallMap::kChannels; ++k) {
      if (k < tile.channels) scaled_grad.values[k] = __ldg(grads + k * p.bins());
    }
    const Place place = PlaceRoi(p, t.rois + r * 5);
    if (place.image != tile.image) return scaled_grad;
    scaled_grad.rows = place.Rows(p, tile.bin / p.pooled_w);
    scaled_grad.columns = place.Columns(p, tile.bin % p.pooled_w);
    const auto area = static_cast<float>(scaled_grad.rows.size() * scaled_grad.columns.size());
#pragma unroll
    for (float& value : scaled_grad.values) value /= area;
    return scaled_grad;
  });
  sums.Sum([&](int y, int x, int first, float2 sum) {
    if (first >= tile.channels) return;
    float* to = t.grad_input + p.Plane(tile.image, tile.channel + first, tile.bin) + y * p.w + x;
    *to = sum.x;
    if (first + 1 < tile.channels) to[p.bins() * p.pixels()] = sum.y;
  });
}

}  // namespace

bool SmallMapApplies(const CudaCall<Problem>& call) {
  return IsSmallMap(SmallMap(call.p), kSmallMapRois, call.context);
}

mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void*) {
  const SmallMap map(call.p);
  call.context.Launch(SumSmallMap, Grid{map.Blocks(), SmallMap::kThreads, map.SharedBytes()},
                      call.p, Gradients(call.arguments), map);
  return call.context.status();
}

}  // namespace mluop::torchvision_ps_roi_pool
