// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices, small maps: one kernel adds the gradients as forward's
// mapping has them, a second one starts anew where the mapping is another.
#include "ops/psroipool/cuda/backward.h"
#include "ops/roi/cuda/small_map.h"

namespace mluop::psroipool {
namespace {

// others: [blocks], not 0 where a block has seen another channel than forward's
__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, Gradients t, SmallMap map, int* others) {
  const SmallMap::Part part = map.PartOf(blockIdx.x);
  SmallMapSums sums(map);
  bool other = false;
  sums.ReadRois([&](int r) {
    RoiShare share = {};
    const int first = (r * map.bins + part.bin) * p.output_dim + part.channel;  // below 2^31
#pragma unroll
    for (int k = 0; k < SmallMap::kChannels; ++k) {
      if (k >= part.channels) continue;
      share.values[k] = __ldg(t.top_grad + first + k);
      other |= __ldg(t.mapping + first + k) != (part.channel + k) * map.bins + part.bin;
    }
    const Place place = PlaceOf(p, t.rois, r);
    if (place.first_row != part.image * p.h) return share;
    share.Divide(BinSpan(place.y, part.bin / p.group, p.h),
                 BinSpan(place.x, part.bin % p.group, p.w));
    return share;
  });
  const int any = __syncthreads_or(other);
  if (threadIdx.x == 0) others[blockIdx.x] = any;
  sums.Sum([&](int y, int x, int first, float2 sum) {
    if (first >= part.channels) return;
    const int64_t pixel = (int64_t{part.image} * p.h + y) * p.w + x;
    float* to =
        t.bottom_grad + pixel * p.channels() + p.Channel(part.bin, int64_t{part.channel} + first);
    *to = sum.x;
    if (first + 1 < part.channels) to[map.bins] = sum.y;
  });
}

constexpr int kThreads = 256;

// Of one pixel, all channels.
struct Pixel {
  int row, column;  // the row counted through all images
  float* sums;      // [C]
};

// One bin of a roi, from element `first` of top_grad on. All threads walk all elements; a channel
// belongs to one of them.
__device__ void AddElements(const Problem& p, const Gradients& t, int first, float area,
                            const Pixel& pixel) {
  const auto channels = static_cast<unsigned>(p.channels());
  for (int i = first; i < first + p.output_dim; ++i) {
    const auto channel = static_cast<unsigned>(t.mapping[i]);  // none there is: no less
    if (channel >= channels || channel % kThreads != threadIdx.x) continue;
    pixel.sums[channel] += t.top_grad[i] / area;
  }
}

__device__ void AddRoi(const Problem& p, const Gradients& t, int r, const Pixel& pixel) {
  const Place place = PlaceOf(p, t.rois, r);
  for (int ph = 0; ph < p.group; ++ph) {
    if (!place.Rows(p, ph).Has(pixel.row)) continue;
    for (int pw = 0; pw < p.group; ++pw) {
      const Bin bin = place.BinOf(p, ph, pw);
      if (!bin.columns.Has(pixel.column)) continue;
      const int item = (r * p.group + ph) * p.group + pw;
      AddElements(p, t, item * p.output_dim, static_cast<float>(bin.area()), pixel);
    }
  }
}

// A block to a pixel.
__global__ void __launch_bounds__(kThreads, 4)
    AddAnyMapping(Problem p, Gradients t, const int* __restrict__ others, int flags) {
  extern __shared__ float sums[];  // [C]
  bool other = false;
  for (int i = threadIdx.x; i < flags; i += kThreads) other |= others[i] != 0;
  if (__syncthreads_or(other) == 0) return;
  const auto channels = static_cast<int>(p.channels());
  const auto row = static_cast<int>(blockIdx.x) / p.w;
  const Pixel pixel = {row, static_cast<int>(blockIdx.x) - row * p.w, sums};
  for (int i = threadIdx.x; i < channels; i += kThreads) sums[i] = 0;
  for (int r = 0; r < p.rois; ++r) AddRoi(p, t, r, pixel);
  float* to = t.bottom_grad + int64_t{blockIdx.x} * channels;
  for (int i = threadIdx.x; i < channels; i += kThreads) to[i] = sums[i];
}

constexpr int64_t kSharedBytes = 48 << 10;  // are everywhere
constexpr int64_t kMostRois = 512;          // no chain of additions is longer

}  // namespace

bool BackwardSmall(const Problem& p, const Gradients& t, CudaContext& context) {
  const int64_t bytes = p.channels() * static_cast<int64_t>(sizeof(float));
  if (!IsSmallMap(p.h, p.w, p.rois, kMostRois) || bytes > kSharedBytes) return false;
  const SmallMap map = {p.n, p.h, p.w, p.group * p.group, p.output_dim, static_cast<int>(p.rois)};
  if (!HasFewBlocks(map, context)) return false;
  auto* others =
      static_cast<int*>(context.Scratch(static_cast<size_t>(map.Blocks()) * sizeof(int)));
  context.Launch(SumSmallMap, Grid{map.Blocks(), SmallMap::kThreads, map.SharedBytes()}, p, t, map,
                 others);
  context.Launch(AddAnyMapping, Grid{p.rows() * p.w, kThreads, static_cast<size_t>(bytes)}, p, t,
                 others, static_cast<int>(map.Blocks()));
  return true;
}

}  // namespace mluop::psroipool
