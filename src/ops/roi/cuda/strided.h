// SPDX-License-Identifier: Apache-2.0
// Forward pooling on CUDA devices that reads the map in place: small maps and few RoIs.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/context.h"
#include "cuda/ptx.h"
#include "ops/roi/cuda/layout.h"

namespace mluop::roi {

#if defined(__CUDACC__)

// Iterates over the pixels of a bin, row by row. Offsets are within an image or plane, which has
// fewer than 2^31 elements if Offset is unsigned. Offsets past the bin's end may wrap; they are not
// read.
template <typename Offset = unsigned>
class Pixels {
 public:
  using Count = std::make_signed_t<Offset>;

  __device__ Pixels(Span rows, Span columns, Offset width, Offset pixel_stride)
      : columns_(columns.size()),
        left_(Count{rows.size()} * columns_),
        stride_(pixel_stride),
        offset_((rows.begin * width + columns.begin) * stride_),
        row_change_((width - columns_) * stride_) {}

  // Loads the next kCount values, all in flight at once. Missing pixels are zeros: adding +0 does
  // not change a sum that starts at +0.
  template <typename T, int kCount>
  __device__ void Load(const T* __restrict__ from, T (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = any() ? from[offset_] : T{0};
      --left_;
      offset_ += stride_;
      if (++column_ < columns_) continue;
      column_ = 0;
      offset_ += row_change_;
    }
  }
  __device__ bool any() const { return left_ > 0; }

 private:
  int columns_;
  Count left_;
  int column_ = 0;
  Offset stride_, offset_, row_change_;
};

// Prefetches a small map to the L2, a line per thread. The loads overlap with the loads of the
// RoIs, which determine the bins.
template <typename T>
__device__ void PrefetchMap(const T* input, int64_t elements) {
  constexpr int64_t kLine = 128 / sizeof(T), kMostElements = int64_t{1} << 20;
  const int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kLine;
  if (first >= elements || elements > kMostElements) return;
  PrefetchL2(input + first);
}

inline constexpr int kStridedThreads = 256;

// A block owns some elements of one RoI, a thread one element. Family has p, and t with input, rois
// and output; Sum(pixels, from) adds a bin's pixels in the family's order; WriteChannel writes the
// mapping of element i of the pooled values. Offset: see Pixels.
template <class Family, bool kNchw, typename Offset>
__global__ void __launch_bounds__(kStridedThreads) PoolStrided(Family family, int slices) {
  using Place = decltype(PlaceRoi(family.p, family.t.rois));
  __shared__ Place place;
  const auto& p = family.p;
  const int64_t r = blockIdx.x / static_cast<unsigned>(slices);
  const auto slice = static_cast<int>(blockIdx.x % static_cast<unsigned>(slices));
  if (threadIdx.x == 0) place = PlaceRoi(p, family.t.rois + r * 5);
  PrefetchMap(family.t.input, p.map_elements());
  const int64_t i = int64_t{slice} * blockDim.x + threadIdx.x;
  // Threads follow the order of the output. In NCHW this is the order of the channels.
  const auto element = static_cast<unsigned>(i), bins = static_cast<unsigned>(p.bins());
  const auto depth = static_cast<unsigned>(p.output_dim);
  const unsigned bin = kNchw ? element % bins : element / depth;
  const int64_t channel = kNchw ? element : int64_t{element % depth} * bins + bin;
  if (i < p.channels()) family.WriteChannel(r * p.channels() + i, channel);
  __syncthreads();
  if (i >= p.channels()) return;
  const auto across = static_cast<unsigned>(p.bins_w());
  const Span rows = place.Rows(p, static_cast<int>(bin / across));
  const Span columns = place.Columns(p, static_cast<int>(bin % across));
  const int64_t image = place.image < 0 ? 0 : place.image;
  const Pixels<Offset> pixels(rows, columns, static_cast<Offset>(p.w),
                              static_cast<Offset>(kNchw ? 1 : p.channels()));
  using Count = typename Pixels<Offset>::Count;
  const Count area = max(Count{rows.size()} * columns.size(), Count{1});
  // The sum of an empty bin is 0.
  const auto sum =
      Family::Sum(pixels, family.t.input + ElementLayout<kNchw>::Map(p, image, 0, channel));
  family.t.output[r * p.channels() + i] = sum / static_cast<decltype(sum)>(area);
}

// Pools all RoIs, one output per thread. Offsets within an image must fit in Offset.
template <class Family, bool kNchw, typename Offset, class Problem>
mluOpStatus_t RunStrided(const CudaCall<Problem>& call, void*) {
  const Family family(call);
  const int64_t channels = family.p.channels();
  const auto threads =
      static_cast<int>(std::min<int64_t>(CeilDiv(channels, 32) * 32, kStridedThreads));
  const int64_t slices = CeilDiv(channels, threads);
  // The grid has at most one block per 32 output elements, or one per RoI.
  call.context.Launch(PoolStrided<Family, kNchw, Offset>, Grid{family.p.rois * slices, threads},
                      family, static_cast<int>(slices));
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
