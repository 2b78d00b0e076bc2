// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on the CPU. The sum of a bin has one order, torchvision's, so
// vectors run over the channels. Their planes lie pooled_h*pooled_w apart: slices of the map
// (slicing.h) are repacked to [pixel][channel] and pooled from there.
#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/slicing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool::HWY_NAMESPACE {

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

}  // namespace mluop::torchvision_ps_roi_pool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(PoolSlice);
HWY_EXPORT(WriteRoi);

// Returns true if the bins have enough pixels to justify repacking the map, a row fits into a band,
// and a pixel fills a vector.
bool CanUseBands(const CpuCall<Problem>& call) {
  const Problem& p = call.p;
  if (p.map_elements() == 0 || p.output_dim < kMinVector) return false;
  if (MakeSlicing(call, kForwardBand).BandFloats(p) > kForwardBand) return false;
  return roi::BinsHavePixels(p, call.arguments.In<float>("rois"),
                             p.n * p.bins() * p.pixels() / kDirectCost);
}

mluOpStatus_t RunBands(const CpuCall<Problem>& call, void* scratch) {
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

constexpr CpuImplementation<Problem> kForward[] = {
    {"bands", "a row fits the L2, and the bins have at least 1/4 of the elements of the map",
     CanUseBands, BandBytes<kForwardBand>, RunBands, DescribeBands<kForwardBand>},
    {"direct", "always", Always, nullptr, RunDirect<float>},
    CpuImplementation<Problem>::ForDouble(RunDirect<double>),
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
