// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on the CPU. The sum of a bin has one order, torchvision's, so
// vectors run over the channels. Their planes lie pooled_h*pooled_w apart: slices of the map
// (slicing.h) are repacked to [pixel][channel] and pooled from there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/tuning.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/slicing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

// Writes the slice's staged outputs. `band` is the worker's scratch. The sum of a bin is carried in
// the stage from band to band; the last band divides it by the area.
void PoolSlice(const Bands& bands, const Slice& slice, const float* input, float* band) {
  const Problem& p = bands.p;
  const int64_t plane_stride = p.bins() * p.pixels(), pixel_stride = bands.slicing.pixel_stride;
  const float* planes = input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span used = bands.table.UsedRows(slice.image, slice.ph);
  // Where no bin has a pixel, one band without rows writes the zeros of empty bins.
  int32_t row = used.begin;
  do {
    const auto end = static_cast<int32_t>(std::min<int64_t>(row + bands.slicing.rows, used.end));
    PlanesToPixels(planes + row * p.w, plane_stride, (end - row) * p.w, slice.channels, band,
                   pixel_stride);
    ForEachTile<const float>(
        bands, slice, band, {row, end}, [&](auto block, const BinTile<const float>& tile) HWY_ATTR {
          using Block = decltype(block);
          auto sum =
              SumPixels<Block>(tile, tile.begins_bin ? Block::Set(0.0f) : Block::Load(tile.stage));
          if (tile.ends_bin) sum = blocks::Mean(sum, static_cast<float>(tile.area));
          Block::Store(sum, tile.stage);
        });
    row = end;
  } while (row < used.end);
}

// Writes all channels of a RoI.
void WriteRoi(const Bands& bands, const float* stage, float* output) {
  const Problem& p = bands.p;
  PixelsToPlanes({stage, bands.BinStride()}, p.bins(), p.output_dim, {output, p.bins()},
                 simd::Identity());
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(PoolSlice);
HWY_EXPORT(WriteRoi);

using ForwardCall = CpuCall<Problem>;

// Returns true if a row of the map fits into a band, a pixel fills a vector, and the bins have
// enough pixels to be worth repacking the map.
bool CanUseBands(const ForwardCall& call) {
  const Problem& p = call.p;
  if (p.map_elements() == 0 || p.output_dim < kMinVector) return false;
  if (MakeSlicing(call, kForwardBand).BandFloats(p) > kForwardBand) return false;
  const float* rois = call.arguments.In<float>("rois");
  return roi::BinsHavePixels(p, p.pooled_h, p.pooled_w, p.n * p.bins() * p.pixels() / kDirectCost,
                             [&](int64_t r) { return PlaceRoi(p, rois + r * 5); });
}

mluOpStatus_t RunBands(const ForwardCall& call, void* scratch) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  const Bands bands(call, kForwardBand, scratch);
  for (int64_t r = 0; r < p.rois; ++r) {
    if (bands.table.IsEmpty(r)) std::fill_n(t.output + r * p.channels(), p.channels(), 0.0f);
  }
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const auto write = HWY_DYNAMIC_DISPATCH(WriteRoi);
  bands.ForEachSlice([&](const Slice& slice, float* band) { pool(bands, slice, t.input, band); });
  bands.ForEachRoi(
      [&](int64_t r, const float* stage) { write(bands, stage, t.output + r * p.channels()); });
  return MLUOP_STATUS_SUCCESS;
}

// Planes of one bin that are read together: one chain of additions alone would wait for every
// addition.
constexpr int64_t kDirectPlanes = 8;

// Writes the means of one bin in kCount planes to every bins-th output.
template <int64_t kCount>
void PoolPlanes(const Problem& p, const float* planes, const BinBox& box, float* output) {
  const int64_t plane_stride = p.bins() * p.pixels();
  float sums[kCount] = {};
  for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
    for (int64_t w = box.columns.begin; w < box.columns.end; ++w) {
      const float* pixel = planes + h * p.w + w;
      for (int64_t k = 0; k < kCount; ++k) sums[k] += pixel[k * plane_stride];
    }
  }
  const auto area = static_cast<float>(box.area());
  for (int64_t k = 0; k < kCount; ++k) {
    const float mean = area == 0 ? 0.0f : sums[k] / area;
    output[k * p.bins()] = std::isnan(mean) ? std::numeric_limits<float>::quiet_NaN() : mean;
  }
}

// Pools the channels [first, first + kDirectPlanes), as far as they exist, of a RoI that is not empty.
void PoolRoi(const Problem& p, const float* input, const Place& place, int64_t first,
             float* output) {
  const int64_t planes = std::min(kDirectPlanes, p.output_dim - first);
  for (int64_t bin = 0; bin < p.bins(); ++bin) {
    const BinBox box = {place.Rows(p, static_cast<int>(bin / p.pooled_w)),
                        place.Columns(p, static_cast<int>(bin % p.pooled_w))};
    const float* from = input + p.Plane(place.image, first, bin);
    float* to = output + first * p.bins() + bin;
    if (planes == kDirectPlanes) {
      PoolPlanes<kDirectPlanes>(p, from, box, to);
      continue;
    }
    for (int64_t c = 0; c < planes; ++c) {
      PoolPlanes<1>(p, from + c * p.bins() * p.pixels(), box, to + c * p.bins());
    }
  }
}

mluOpStatus_t RunDirect(const ForwardCall& call, void*) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  const int64_t blocks = (p.output_dim + kDirectPlanes - 1) / kDirectPlanes;
  const int64_t work = (p.bins() + p.pixels() / 4) * std::min(p.output_dim, kDirectPlanes);
  call.context.threads().ForEach(p.rois * blocks, kGrain / work + 1, [&](int64_t i, int) {
    const int64_t r = i / blocks, first = i % blocks * kDirectPlanes;
    float* const to = t.output + r * p.channels();
    const Place place = p.pixels() == 0 ? Place{-1, {}, {}} : PlaceRoi(p, t.rois + r * 5);
    if (place.image < 0) {
      const int64_t channels = std::min(kDirectPlanes, p.output_dim - first);
      std::fill_n(to + first * p.bins(), channels * p.bins(), 0.0f);
    } else {
      PoolRoi(p, t.input, place, first, to);
    }
  });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"bands", "a row fits the L2, and the bins have at least 1/4 of the elements of the map",
     CanUseBands, BandBytes<kForwardBand>, RunBands, DescribeBands<kForwardBand>},
    {"direct", "always", Always, nullptr, RunDirect},
    CpuImplementation<Problem>::ForDouble(RunDoubleForward),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
