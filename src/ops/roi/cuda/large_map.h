// SPDX-License-Identifier: Apache-2.0
// The gradient of a map of pooled RoIs on CUDA devices for any size. A thread owns an element of
// the map and visits all RoIs, with 64-bit offsets. Slow; it adds in the order of masked_sums.h, so
// the bits are the same.
#pragma once

#include <algorithm>

#include "ops/roi/cuda/masked_sums.h"

namespace mluop::roi {

// The sum of an element: RoIs in ascending order make parts, parts make passes.
struct SumOrder {
  int64_t part, pass;  // RoIs
};

#if defined(__CUDACC__)

// Sets *flag if a channel of the mapping is not forward's.
template <bool kNchw, class Problem>
__global__ void FindCustomMapping(Problem p, const int32_t* mapping, int* flag) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.rois * p.channels();
       i += stride) {
    const int64_t element = i % p.channels();
    const int64_t bin = kNchw ? element % p.bins() : element / p.output_dim;
    const int64_t c = kNchw ? element / p.bins() : element % p.output_dim;
    if (mapping[i] != c * p.bins() + bin) *flag = 1;
  }
}

// Adds the RoIs whose bin of `channel` covers the pixel.
template <class Family, bool kNchw, class Problem, typename T>
__device__ T SumCovering(const Problem& p, const PooledGradients<T>& t, const SumOrder& order,
                         const MapPixel& pixel, int64_t channel) {
  const int64_t bin = channel % p.bins(), c = channel / p.bins();
  const auto ph = static_cast<int>(bin / p.bins_w()), pw = static_cast<int>(bin % p.bins_w());
  T total = 0;
  for (int64_t pass = 0; pass < p.rois; pass += order.pass) {
    const int64_t pass_end = min(pass + order.pass, p.rois);
    T sum = 0;
    for (int64_t first = pass; first < pass_end; first += order.part) {
      T part = 0;
      for (int64_t r = first; r < min(first + order.part, pass_end); ++r) {
        const auto place = PlaceRoi(p, t.rois + r * 5);
        if (place.image != pixel.image) continue;
        const Span rows = place.Rows(p, ph), columns = place.Columns(p, pw);
        if (!rows.Has(pixel.y) || !columns.Has(pixel.x)) continue;
        const auto area = static_cast<T>(int64_t{rows.size()} * columns.size());
        part += Family::Scale(t.pooled[ElementLayout<kNchw>::Pooled(p, r, bin, c)], area);
      }
      sum += part;
    }
    total += sum;
  }
  return total;
}

template <class Family, bool kNchw, class Problem, typename T>
__global__ void SumLargeMap(Problem p, PooledGradients<T> t, SumOrder order, const int* flag) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x, elements = p.map_elements();
  const int64_t pixels = int64_t{p.h} * p.w, channels = p.channels();
  const bool custom = *flag != 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += stride) {
    const int64_t channel = kNchw ? i / pixels % channels : i % channels;
    const int64_t image = i / pixels / channels;
    const MapPixel pixel(p, kNchw ? image * pixels + i % pixels : i / channels);
    t.map[i] = custom ? SumElement<Family, kNchw>(p, t, pixel, channel)
                      : SumCovering<Family, kNchw>(p, t, order, pixel, channel);
  }
}

template <class Problem>
size_t LargeMapBytes(const CudaCall<Problem>&) {
  return sizeof(int);
}

// scratch: LargeMapBytes. For families with a mapping whose sums have parts.
template <class Family, bool kNchw, class Problem, typename T>
mluOpStatus_t RunLargeMap(const CudaCall<Problem>& call, const PooledGradients<T>& t,
                          void* scratch) {
  static_assert(Family::kHasMapping && Family::kAddsParts);
  const Problem& p = call.p;
  const auto grid = [](int64_t elements) {
    constexpr int kThreads = 256;
    constexpr int64_t kMostBlocks = int64_t{1} << 20;
    return Grid{std::clamp<int64_t>(CeilDiv(elements, kThreads), 1, kMostBlocks), kThreads};
  };
  auto* flag = static_cast<int*>(scratch);
  const SumOrder order = {int64_t{Family::kPartWords} * RoiMasks::kRoisOfWord, PassOf(p).rois};
  call.context.Zero(flag, sizeof(int));
  call.context.Launch(FindCustomMapping<kNchw, Problem>, grid(p.rois * p.channels()), p, t.mapping,
                      flag);
  call.context.Launch(SumLargeMap<Family, kNchw, Problem, T>, grid(p.map_elements()), p, t, order,
                      flag);
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
