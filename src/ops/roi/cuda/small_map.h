// SPDX-License-Identifier: Apache-2.0
// The gradient of a small map of pooled RoIs on CUDA devices, in one kernel. Small calls are
// limited by latency (a chain of dependent loads). A block owns one bin and some of its output
// channels of one image. It keeps in shared memory a bit per row of the map and RoI, and the scaled
// gradient of each RoI with its columns. A warp owns a row and adds the RoIs of the row's bits in
// ascending order.
#pragma once

#include "core/host_device.h"
#include "cuda/context.h"
#include "cuda/pdl.h"
#include "cuda/ptx.h"
#include "ops/roi/cuda/custom_mapping.h"

namespace mluop::roi {

struct SmallMap {
  static constexpr int kThreads = 512;
  static constexpr int kChannels = 4;  // of a block, two per half of a warp
  static constexpr int kColumns = 16;  // of half a warp

  int64_t images;
  int height, width;
  int bins, output_dim;
  int rois;

  template <class Problem>
  static SmallMap Of(const Problem& p) {
    const auto number = [](int64_t n) { return static_cast<int>(n); };
    return {p.n, number(p.h), number(p.w), number(p.bins()), number(p.output_dim), number(p.rois)};
  }

  MLUOP_HOST_DEVICE int words() const { return (rois + 31) / 32; }
  MLUOP_HOST_DEVICE int slices() const { return (output_dim + kChannels - 1) / kChannels; }
  int64_t Blocks() const { return images * bins * slices(); }
  size_t SharedBytes() const {
    return static_cast<size_t>(rois) * (sizeof(float4) + sizeof(Span)) +
           static_cast<size_t>(height) * static_cast<size_t>(words()) * sizeof(uint32_t);
  }

#if defined(__CUDACC__)
  // Work of one block.
  struct BlockTile {
    int image, bin;
    int channel, channels;  // first channel, number of channels
  };
  __device__ BlockTile TileOf(unsigned block) const {
    const auto of_image = static_cast<unsigned>(bins) * static_cast<unsigned>(slices());
    const unsigned image = block / of_image, index = block - image * of_image;
    const unsigned bin = index / static_cast<unsigned>(slices());
    const int channel = static_cast<int>(index - bin * static_cast<unsigned>(slices())) * kChannels;
    return {static_cast<int>(image), static_cast<int>(bin), channel,
            min(kChannels, output_dim - channel)};
  }
#endif
};

// Returns true if the single-kernel implementation is faster. Every block visits all RoIs, and its
// warps one row after the other: on planes of 38x63 it took 3.7x the time of masks.
inline bool IsSmallMap(const SmallMap& map, int64_t most_rois, const CudaContext& context) {
  return map.height <= 64 && int64_t{map.height} * map.width <= 1024 && map.rois > 0 &&
         map.rois <= most_rois && map.Blocks() <= int64_t{8} * context.sm_count();
}

#if defined(__CUDACC__)

// Scaled gradient of a RoI for each pixel of a bin, in [begin, end) of rows and of columns of the
// image.
struct RoiGradient {
  Span rows, columns;
  float values[SmallMap::kChannels];
};

class SmallMapSums {
 public:
  __device__ explicit SmallMapSums(const SmallMap& map) : map_(map) {
    scaled_grads_ = DynamicShared<float4>();
    columns_ = reinterpret_cast<Span*>(scaled_grads_ + map.rois);
    rows_ = reinterpret_cast<uint32_t*>(columns_ + map.rois);
  }

  // read(r) returns the RoiGradient of a RoI. Ends with a barrier.
  template <typename Read>
  __device__ void ReadRois(Read read) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (int r = threadIdx.x; r < map_.words() * 32; r += SmallMap::kThreads) {
      Span rows = {0, 0};
      if (r < map_.rois) {
        const RoiGradient scaled_grad = read(r);
        rows = scaled_grad.rows;
        columns_[r] = scaled_grad.columns;
        scaled_grads_[r] = {scaled_grad.values[0], scaled_grad.values[1], scaled_grad.values[2],
                            scaled_grad.values[3]};
      }
      uint32_t mask = 0;
      for (int y = 0; y < map_.height; ++y) {
        const unsigned ballot = __ballot_sync(0xffffffffu, rows.Has(y));
        if (lane == y % 32) mask = ballot;
        if (y % 32 != 31 && y + 1 < map_.height) continue;
        if (lane <= y % 32) rows_[(y - y % 32 + lane) * map_.words() + r / 32] = mask;
      }
    }
    __syncthreads();
  }

  // Calls write(y, x, first, sums) with the sums of two of the block's channels from `first` on.
  template <typename Write>
  __device__ void Sum(Write write) const {
    const auto lane = static_cast<int>(threadIdx.x % 32), half = lane / SmallMap::kColumns;
    const int across = (map_.width + SmallMap::kColumns - 1) / SmallMap::kColumns;
    for (int i = threadIdx.x / 32; i < map_.height * across; i += SmallMap::kThreads / 32) {
      const int y = i / across,
                x = (i - y * across) * SmallMap::kColumns + lane % SmallMap::kColumns;
      const float2 sums = SumPixel(rows_ + y * map_.words(), x, half);
      if (x < map_.width) write(y, x, half * 2, sums);
    }
  }

 private:
  static constexpr int kLoads = 4;  // in flight at a time

  __device__ float2 SumPixel(const uint32_t* row, int x, int half) const {
    const float2* scaled_grads = reinterpret_cast<const float2*>(scaled_grads_) + half;
    float2 sum = {0, 0};
    for (int word = 0; word < map_.words(); ++word) {
      for (uint32_t bits = row[word]; bits != 0;) {
        Span columns[kLoads];
        float2 values[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          const int r = word * 32 + (bits != 0 ? __ffs(static_cast<int>(bits)) - 1 : 0);
          columns[k] = bits != 0 ? columns_[r] : Span{0, 0};
          values[k] = scaled_grads[r * 2];
          bits &= bits - 1;
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          if (columns[k].Has(x)) {
            sum = {sum.x + values[k].x, sum.y + values[k].y};
          }
        }
      }
    }
    return sum;
  }

  SmallMap map_;
  float4* scaled_grads_;  // [rois]
  Span* columns_;         // [rois]
  uint32_t* rows_;        // [height, words]
};

// flags: [blocks]; set where a block has seen a mapping that is not forward's
template <class Family, bool kNchw, class Problem>
__global__ void __launch_bounds__(SmallMap::kThreads, 2)
    SumSmallMap(Problem p, PooledGradients<float> t, SmallMap map, int* flags) {
  using At = ElementLayout<kNchw>;
  TriggerDependents();
  const SmallMap::BlockTile tile = map.TileOf(blockIdx.x);
  const int64_t step = kNchw ? map.bins : 1;  // to the next output channel, in pooled values
  SmallMapSums sums(map);
  bool custom = false;
  sums.ReadRois([&](int r) {
    RoiGradient scaled_grad = {};
    const int64_t first = At::Pooled(p, r, tile.bin, tile.channel);
#pragma unroll
    for (int k = 0; k < SmallMap::kChannels; ++k) {
      if (k >= tile.channels) continue;
      scaled_grad.values[k] = __ldg(t.pooled + first + k * step);
      if (!Family::kHasMapping) continue;
      custom |= __ldg(t.mapping + first + k * step) != (tile.channel + k) * map.bins + tile.bin;
    }
    const auto place = PlaceRoi(p, t.rois + int64_t{r} * 5);
    if (place.image != tile.image) return scaled_grad;
    scaled_grad.rows = place.Rows(p, tile.bin / p.bins_w());
    scaled_grad.columns = place.Columns(p, tile.bin % p.bins_w());
    const auto area = static_cast<float>(scaled_grad.rows.size() * scaled_grad.columns.size());
#pragma unroll
    for (float& value : scaled_grad.values) value = Family::Scale(value, area);
    return scaled_grad;
  });
  if (Family::kHasMapping) {
    const int any = __syncthreads_or(custom);
    if (threadIdx.x == 0) flags[blockIdx.x] = any;
  }
  sums.Sum([&](int y, int x, int first, float2 sum) {
    if (first >= tile.channels) return;
    const int64_t pixel = int64_t{y} * map.width + x, channel = tile.channel + first;
    float* to = t.map + At::Map(p, tile.image, pixel, channel * map.bins + tile.bin);
    *to = sum.x;
    if (first + 1 < tile.channels) to[map.bins * (kNchw ? map.height * map.width : 1)] = sum.y;
  });
}

template <class Family, class Problem>
bool SmallMapApplies(const CudaCall<Problem>& call) {
  return IsSmallMap(SmallMap::Of(call.p), Family::kSmallMapRois, call.context);
}

template <class Problem>
size_t SmallMapBytes(const CudaCall<Problem>& call) {
  return static_cast<size_t>(SmallMap::Of(call.p).Blocks()) * sizeof(int);
}

// scratch: SmallMapBytes; not read without a mapping.
template <class Family, bool kNchw, class Problem>
mluOpStatus_t RunSmallMap(const CudaCall<Problem>& call, void* scratch) {
  const auto t = Family::template Gradients<float>(call);
  const SmallMap map = SmallMap::Of(call.p);
  auto* flags = static_cast<int*>(scratch);
  call.context.Launch(SumSmallMap<Family, kNchw, Problem>,
                      Grid{map.Blocks(), SmallMap::kThreads, map.SharedBytes()}, call.p, t, map,
                      flags);
  RunCustomMapping<Family, kNchw>(call, t, flags, map.Blocks());
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
