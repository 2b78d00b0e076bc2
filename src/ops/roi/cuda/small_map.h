// SPDX-License-Identifier: Apache-2.0
// The gradient of a small map of pooled RoIs on CUDA devices, in one kernel. Small calls are
// limited by latency (a chain of dependent loads). A block owns one bin and some of its output
// channels of one image. It keeps in shared memory a bit per row of the map and RoI, and the scaled
// gradient of each RoI with its columns. A warp owns a row and adds the RoIs of the row's bits in
// ascending order.
#pragma once

#include "cuda/context.h"
#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/roi/cuda/custom_mapping.h"

namespace mluop::roi {

struct SmallMap {
  static constexpr int kThreads = 512;
  static constexpr int kChannels = 4;  // of a block, two per half of a warp
  static constexpr int kColumns = 16;  // of half a warp

  int height, width;
  int bins, slices;  // slices of the output channels
  int rois, words;   // words of a row's bits
  int64_t blocks;

  template <class Problem>
  explicit SmallMap(const Problem& p)
      : height(static_cast<int>(p.h)),
        width(static_cast<int>(p.w)),
        bins(static_cast<int>(p.bins())),
        slices(static_cast<int>(CeilDiv(p.output_dim, kChannels))),
        rois(static_cast<int>(p.rois)),
        words(static_cast<int>(CeilDiv(p.rois, 32))),
        blocks(p.n * p.bins() * slices) {}

  size_t SharedBytes() const {
    return static_cast<size_t>(rois) * (sizeof(float4) + sizeof(Span)) +
           static_cast<size_t>(height) * static_cast<size_t>(words) * sizeof(uint32_t);
  }
};

#if defined(__CUDACC__)

// Shared memory of a block: the scaled gradients of a bin's RoIs.
struct BinGradients {
  float4* values;  // [rois]
  Span* columns;   // [rois]
  uint32_t* rows;  // [height, words]

  __device__ explicit BinGradients(const SmallMap& map) {
    values = DynamicShared<float4>();
    columns = reinterpret_cast<Span*>(values + map.rois);
    rows = reinterpret_cast<uint32_t*>(columns + map.rois);
  }

  // Writes the bits of RoI r, whose bin has the rows `covered`. Called by a warp with 32 RoIs.
  __device__ void WriteRows(const SmallMap& map, int r, const Span& covered) const {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    uint32_t mask = 0;
    for (int y = 0; y < map.height; ++y) {
      const unsigned ballot = __ballot_sync(0xffffffffu, covered.Has(y));
      if (lane == y % 32) mask = ballot;
      if (y % 32 != 31 && y + 1 < map.height) continue;
      if (lane <= y % 32) rows[(y - y % 32 + lane) * map.words + r / 32] = mask;
    }
  }

  // Returns the sums of two of the block's channels at a pixel.
  __device__ float2 SumPixel(const SmallMap& map, int y, int x, int half) const {
    constexpr int kLoads = 4;  // in flight at a time
    const float2* scaled_grads = reinterpret_cast<const float2*>(values) + half;
    float2 sum = {0, 0};
    for (int word = 0; word < map.words; ++word) {
      for (uint32_t bits = rows[y * map.words + word]; bits != 0;) {
        Span span[kLoads];
        float2 grads[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          const int r = word * 32 + (bits != 0 ? __ffs(static_cast<int>(bits)) - 1 : 0);
          span[k] = bits != 0 ? columns[r] : Span{0, 0};
          grads[k] = scaled_grads[r * 2];
          bits &= bits - 1;
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          if (span[k].Has(x)) sum = {sum.x + grads[k].x, sum.y + grads[k].y};
        }
      }
    }
    return sum;
  }
};

// flags: [blocks]; set where a block has seen a mapping that is not forward's
template <class Family, bool kNchw, class Problem>
__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, PooledGradients<float> t, SmallMap map, int* flags) {
  using At = ElementLayout<kNchw>;
  constexpr int kChannels = SmallMap::kChannels, kColumns = SmallMap::kColumns;
  TriggerDependents();
  const BinGradients gradients(map);
  const auto slices = static_cast<unsigned>(map.slices), all_bins = static_cast<unsigned>(map.bins);
  const int slice = blockIdx.x % slices, bin = blockIdx.x / slices % all_bins;
  const int image = blockIdx.x / slices / all_bins, c = slice * kChannels;
  const int channels = min(kChannels, static_cast<int>(p.output_dim) - c);
  bool custom = false;
  for (int r = threadIdx.x; r < map.words * 32; r += SmallMap::kThreads) {
    Span rows = {0, 0};
    if (r < map.rois) {
      const int64_t first = At::Pooled(p, r, bin, c);
      float values[kChannels] = {};
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
        if (k >= channels) continue;
        const int64_t from = first + k * (kNchw ? map.bins : 1);
        values[k] = __ldg(t.pooled + from);
        if (Family::kHasMapping) custom |= __ldg(t.mapping + from) != (c + k) * map.bins + bin;
      }
      const auto place = PlaceRoi(p, t.rois + int64_t{r} * 5);
      if (place.image == image) rows = place.Rows(p, bin / p.bins_w());
      const Span columns = place.Columns(p, bin % p.bins_w());
      const auto area = static_cast<float>(rows.size() * columns.size());
#pragma unroll
      for (float& value : values) value = Family::Scale(value, area);
      gradients.columns[r] = columns;
      gradients.values[r] = {values[0], values[1], values[2], values[3]};
    }
    gradients.WriteRows(map, r, rows);
  }
  const int any = __syncthreads_or(custom);
  if (Family::kHasMapping && threadIdx.x == 0) flags[blockIdx.x] = any;
  const auto lane = static_cast<int>(threadIdx.x % 32), half = lane / kColumns;
  const int across = (map.width + kColumns - 1) / kColumns;
  for (int i = threadIdx.x / 32; i < map.height * across; i += SmallMap::kThreads / 32) {
    const int y = i / across, x = (i - y * across) * kColumns + lane % kColumns;
    const float2 sums = gradients.SumPixel(map, y, x, half);
    if (x >= map.width || half * 2 >= channels) continue;
    const int64_t channel = int64_t{c + half * 2} * map.bins + bin;
    float* to = t.map + At::Map(p, image, int64_t{y} * map.width + x, channel);
    to[0] = sums.x;
    if (half * 2 + 1 < channels) to[map.bins * (kNchw ? map.height * map.width : 1)] = sums.y;
  }
}

// Returns true if the single-kernel implementation is faster. Every block visits all RoIs, and its
// warps one row after the other: on planes of 38x63 it took 3.7x the time of masks.
template <class Family, class Problem>
bool SmallMapApplies(const CudaCall<Problem>& call) {
  const Problem& p = call.p;
  return p.h <= 64 && int64_t{p.h} * p.w <= 1024 && p.rois > 0 && p.rois <= Family::kSmallMapRois &&
         SmallMap(p).blocks <= 8 * call.context.sm_count();
}

template <class Problem>
size_t SmallMapBytes(const CudaCall<Problem>& call) {
  return static_cast<size_t>(SmallMap(call.p).blocks) * sizeof(int);
}

// scratch: SmallMapBytes; not read without a mapping.
template <class Family, bool kNchw, class Problem>
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch) {
  const auto t = Family::template Gradients<float>(call);
  const SmallMap map(call.p);
  auto* flags = static_cast<int*>(scratch);
  call.context.Launch(SumSmallMap<Family, kNchw, Problem>,
                      Grid{map.blocks, SmallMap::kThreads, map.SharedBytes()}, call.p, t, map,
                      flags);
  RunCustomMapping<Family, kNchw>(call, t, flags, map.blocks);
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
