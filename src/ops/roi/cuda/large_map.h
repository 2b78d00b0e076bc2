// SPDX-License-Identifier: Apache-2.0
// The gradient of a map of pooled RoIs on CUDA devices for any size. A thread owns an element of
// the map and visits all RoIs, with 64-bit offsets. Slow; it adds in the order of masked_sums.h, so
// the bits are the same.
#pragma once

#include "cuda/for_each.h"
#include "ops/roi/cuda/masked_sums.h"

namespace mluop::roi {

#if defined(__CUDACC__)

// Adds the RoIs whose bin of `channel` covers the pixel, in ascending order. RoIs make parts of the
// sum, parts make passes of `pass_rois`.
template <class Family, bool kNchw, class Problem, typename T>
__device__ T SumCovering(const Problem& p, const PooledGradients<T>& t, int64_t pass_rois,
                         const MapPixel& pixel, int64_t channel) {
  constexpr int64_t kPartRois = int64_t{Family::kPartWords} * RoiMasks::kRoisOfWord;
  const int64_t bin = channel % p.bins(), c = channel / p.bins();
  const auto ph = static_cast<int>(bin / p.bins_w()), pw = static_cast<int>(bin % p.bins_w());
  T total = 0;
  for (int64_t pass = 0; pass < p.rois; pass += pass_rois) {
    const int64_t pass_end = min(pass + pass_rois, p.rois);
    T sum = 0;
    for (int64_t first = pass; first < pass_end; first += kPartRois) {
      T part = 0;
      for (int64_t r = first; r < min(first + kPartRois, pass_end); ++r) {
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

template <class Problem>
size_t LargeMapBytes(const CudaCall<Problem>&) {
  return sizeof(int);
}

// scratch: LargeMapBytes. For families with a mapping whose sums have parts.
template <class Family, bool kNchw, typename T, class Problem>
mluOpStatus_t RunLargeMap(const CudaCall<Problem>& call, void* scratch) {
  static_assert(Family::kHasMapping && Family::kAddsParts);
  const auto t = Family::template Gradients<T>(call);
  const Problem p = call.p;
  const int64_t channels = p.channels(), pixels = int64_t{p.h} * p.w, pass_rois = PassOf(p).rois;
  auto* custom = static_cast<int*>(scratch);
  call.context.Zero(custom, sizeof(int));
  ForEach(call.context, p.rois * channels, [=] __device__(int64_t i) {
    const int64_t element = i % channels;
    const int64_t bin = kNchw ? element % p.bins() : element / p.output_dim;
    const int64_t c = kNchw ? element / p.bins() : element % p.output_dim;
    if (t.mapping[i] != c * p.bins() + bin) *custom = 1;
  });
  ForEach(call.context, p.map_elements(), [=] __device__(int64_t i) {
    const int64_t image = i / pixels / channels,
                  channel = kNchw ? i / pixels % channels : i % channels;
    const MapPixel pixel(p, kNchw ? image * pixels + i % pixels : i / channels);
    t.map[i] = SumCovering<Family, kNchw>(p, t, pass_rois, pixel, channel);
  });
  RunCustomMapping<Family, kNchw>(call, t, custom, 1);
  return call.context.status();
}

#endif  // __CUDACC__

}  // namespace mluop::roi
