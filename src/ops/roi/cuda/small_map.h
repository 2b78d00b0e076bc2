// SPDX-License-Identifier: Apache-2.0
// The gradient of a small map of pooled rois on CUDA devices, in one kernel: what costs there is to
// wait for one thing after the other. A block owns one bin and some of its output channels of one
// image, and has all it needs of the rois in shared memory: a bit for each row of the map and each
// roi, and what each roi gives to which columns. A warp has a row and adds the rois that the row's
// bits name, in ascending order.
#pragma once

#include "core/host_device.h"
#include "cuda/context.h"

namespace mluop {

struct SmallMap {
  static constexpr int kThreads = 512;
  static constexpr int kChannels = 4;  // of a block; the two halves of a warp have two each
  static constexpr int kColumns = 16;  // of a half

  int64_t images;
  int height, width;
  int bins, output_dim;
  int rois;

  MLUOP_HOST_DEVICE int words() const { return (rois + 31) / 32; }
  MLUOP_HOST_DEVICE int slices() const { return (output_dim + kChannels - 1) / kChannels; }
  int64_t Blocks() const { return images * bins * slices(); }
  size_t SharedBytes() const {
    return static_cast<size_t>(rois) * (sizeof(float4) + sizeof(int2)) +
           static_cast<size_t>(height) * static_cast<size_t>(words()) * sizeof(uint32_t);
  }

#if defined(__CUDACC__)
  // What a block owns.
  struct Part {
    int image, bin;
    int channel, channels;  // the first one, and how many
  };
  __device__ Part PartOf(unsigned block) const {
    const auto of_image = static_cast<unsigned>(bins) * static_cast<unsigned>(slices());
    const unsigned image = block / of_image, index = block - image * of_image;
    const unsigned bin = index / static_cast<unsigned>(slices());
    const int channel = static_cast<int>(index - bin * static_cast<unsigned>(slices())) * kChannels;
    return {static_cast<int>(image), static_cast<int>(bin), channel,
            min(kChannels, output_dim - channel)};
  }
#endif
};

// Where this way is the faster one. Every block looks at all rois, and its warps at one row after
// the other: on planes of 38 x 63 it took 3.7 times as long as one block to a row does.
inline bool IsSmallMap(int64_t height, int64_t width, int64_t rois, int64_t most_rois) {
  return height <= 64 && height * width <= 1024 && rois <= most_rois;
}
inline bool HasFewBlocks(const SmallMap& map, const CudaContext& context) {
  return map.Blocks() <= int64_t{8} * context.sm_count();
}

#if defined(__CUDACC__)

// What a roi gives to each pixel of a bin, [begin, end) of rows and of columns of the image.
struct RoiShare {
  int2 rows, columns;
  float values[SmallMap::kChannels];

  // The values are those of the whole bin: each of its pixels gets a share. Nobody reads what an
  // empty bin gives.
  template <typename Span>
  __device__ void Divide(const Span& of_rows, const Span& of_columns) {
    rows = {of_rows.begin, of_rows.end};
    columns = {of_columns.begin, of_columns.end};
    const auto area = static_cast<float>((rows.y - rows.x) * (columns.y - columns.x));
#pragma unroll
    for (float& value : values) value /= area;
  }
};

class SmallMapSums {
 public:
  __device__ explicit SmallMapSums(const SmallMap& map) : map_(map) {
    extern __shared__ float4 shares[];
    shares_ = shares;
    columns_ = reinterpret_cast<int2*>(shares + map.rois);
    rows_ = reinterpret_cast<uint32_t*>(columns_ + map.rois);
  }

  // read(r): the RoiShare of one. Ends with a barrier.
  template <typename Read>
  __device__ void ReadRois(Read read) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    for (int r = threadIdx.x; r < map_.words() * 32; r += SmallMap::kThreads) {
      int2 rows = {0, 0};
      if (r < map_.rois) {
        const RoiShare share = read(r);
        rows = share.rows;
        columns_[r] = share.columns;
        shares_[r] = {share.values[0], share.values[1], share.values[2], share.values[3]};
      }
      uint32_t mask = 0;
      for (int y = 0; y < map_.height; ++y) {
        const unsigned having = __ballot_sync(0xffffffffu, y >= rows.x && y < rows.y);
        if (lane == y % 32) mask = having;
        if (y % 32 != 31 && y + 1 < map_.height) continue;
        if (lane <= y % 32) rows_[(y - y % 32 + lane) * map_.words() + r / 32] = mask;
      }
    }
    __syncthreads();
  }

  // write(y, x, first, sums): of two channels from `first` on of the block's
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
  static constexpr int kLoads = 4;  // under way at a time

  __device__ float2 SumPixel(const uint32_t* row, int x, int half) const {
    const float2* shares = reinterpret_cast<const float2*>(shares_) + half;
    float2 sum = {0, 0};
    for (int word = 0; word < map_.words(); ++word) {
      for (uint32_t bits = row[word]; bits != 0;) {
        int2 columns[kLoads];
        float2 values[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          const int r = word * 32 + (bits != 0 ? __ffs(static_cast<int>(bits)) - 1 : 0);
          columns[k] = bits != 0 ? columns_[r] : int2{0, 0};
          values[k] = shares[r * 2];
          bits &= bits - 1;
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          if (x >= columns[k].x && x < columns[k].y) {
            sum = {sum.x + values[k].x, sum.y + values[k].y};
          }
        }
      }
    }
    return sum;
  }

  SmallMap map_;
  float4* shares_;  // [rois]
  int2* columns_;   // [rois]
  uint32_t* rows_;  // [height, words]
};

#endif  // __CUDACC__

}  // namespace mluop
