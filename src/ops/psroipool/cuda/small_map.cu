// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices, small maps: one kernel adds the gradients with forward's mapping,
// a second one overwrites its result where the mapping is a custom one.
#include "ops/psroipool/cuda/backward.h"
#include "ops/psroipool/cuda/tuning.h"
#include "ops/roi/cuda/small_map.h"

namespace mluop::psroipool {
namespace {

using roi::RoiGradient;
using roi::SmallMap;

// custom_mapping_flags: [blocks]
template <bool kNchw>
__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, Gradients t, SmallMap map, int* custom_mapping_flags) {
  using At = ElementLayout<kNchw>;
  const SmallMap::BlockTile tile = map.TileOf(blockIdx.x);
  roi::SmallMapSums sums(map);
  bool custom = false;
  sums.ReadRois([&](int r) {
    RoiGradient scaled_grad = {};
    const int64_t first = At::Pooled(p, r, tile.bin, tile.channel), step = At::PooledStep(p);
#pragma unroll
    for (int k = 0; k < SmallMap::kChannels; ++k) {
      if (k >= tile.channels) continue;
      scaled_grad.values[k] = __ldg(t.top_grad + first + k * step);
      custom |= __ldg(t.mapping + first + k * step) != (tile.channel + k) * map.bins + tile.bin;
    }
    const Place place = LoadPlace(p, t.rois, r);
    if (place.image != tile.image) return scaled_grad;
    scaled_grad.rows = place.Rows(p, tile.bin / p.group);
    scaled_grad.columns = place.Columns(p, tile.bin % p.group);
    const float scale =
        1.0f / static_cast<float>(scaled_grad.rows.size() * scaled_grad.columns.size());
#pragma unroll
    for (float& value : scaled_grad.values) value *= scale;
    return scaled_grad;
  });
  const int any = __syncthreads_or(custom);
  if (threadIdx.x == 0) custom_mapping_flags[blockIdx.x] = any;
  sums.Sum([&](int y, int x, int first, float2 sum) {
    if (first >= tile.channels) return;
    const int64_t channel = p.Channel(tile.bin, int64_t{tile.channel} + first);
    float* to = t.bottom_grad + At::Map(p, tile.image, int64_t{y} * p.w + x, channel);
    *to = sum.x;
    if (first + 1 < tile.channels) to[map.bins * At::ChannelStep(p)] = sum.y;
  });
}

constexpr int kCustomThreads = 256;

// A block owns a pixel.
template <bool kNchw>
__global__ void __launch_bounds__(kCustomThreads, 4)
    SumCustomMappings(Problem p, Gradients t, const int* __restrict__ flags, int count) {
  extern __shared__ float sums[];  // [C]
  if (__syncthreads_or(ReadFlags(flags, count)) == 0) return;
  const auto channels = static_cast<int>(p.channels());
  const auto pixel = static_cast<int>(blockIdx.x), row = pixel / p.w, column = pixel - row * p.w;
  SumCustomMapping<kNchw>(p, t, {row, {column, column + 1}, 0, channels, channels}, sums);
  const int image = row / p.h, in_image = pixel - image * p.h * p.w;
  for (int i = threadIdx.x; i < channels; i += kCustomThreads) {
    t.bottom_grad[ElementLayout<kNchw>::Map(p, image, in_image, i)] = sums[i];
  }
}

constexpr int64_t kSharedBytes = 48 << 10;  // every device has them

}  // namespace

bool SmallMapApplies(const CudaCall<Problem>& call) {
  const int64_t bytes = call.p.channels() * static_cast<int64_t>(sizeof(float));
  return bytes <= kSharedBytes && IsSmallMap(SmallMap(call.p), kSmallMapRois, call.context);
}

size_t SmallMapBytes(const CudaCall<Problem>& call) {
  return static_cast<size_t>(SmallMap(call.p).Blocks()) * sizeof(int);
}

template <bool kNchw>
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const Gradients t(call.arguments);
  const SmallMap map(p);
  auto* flags = static_cast<int*>(scratch);
  call.context.Launch(SumSmallMap<kNchw>, Grid{map.Blocks(), SmallMap::kThreads, map.SharedBytes()},
                      p, t, map, flags);
  call.context.Launch(
      SumCustomMappings<kNchw>,
      Grid{p.rows() * p.w, kCustomThreads, sizeof(float) * static_cast<size_t>(p.channels())}, p, t,
      flags, static_cast<int>(map.Blocks()));
  return call.context.status();
}

template mluOpStatus_t RunSmallMap<false>(const CudaCall<Problem>&, void*);
template mluOpStatus_t RunSmallMap<true>(const CudaCall<Problem>&, void*);

}  // namespace mluop::psroipool
