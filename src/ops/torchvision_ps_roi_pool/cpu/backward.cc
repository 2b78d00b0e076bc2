// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on the CPU. A slice (slicing.h) owns its planes of the gradient and
// adds the RoIs to them in ascending order: no two threads write the same element. It is summed as
// [pixel][channel], with vectors over the channels.
#include <algorithm>

#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/slicing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool::HWY_NAMESPACE {

// Writes the slice's planes of grad_input. `band` is the worker's scratch.
void SumSlice(const Bands& bands, const Slice& slice, float* grad_input, float* band) {
  const Problem& p = bands.p;
  const int64_t plane_stride = p.bins() * p.pixels(), pixel_stride = bands.slicing.pixel_stride;
  float* planes = grad_input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span used = bands.table.UsedRows(slice.image, slice.ph);
  for (int64_t c = 0; c < slice.channels; ++c) {
    float* plane = planes + c * plane_stride;
    simd::ZeroRow(plane, used.begin * p.w);
    simd::ZeroRow(plane + used.end * p.w, (p.h - used.end) * p.w);
  }
  for (int32_t row = used.begin, end; row < used.end; row = end) {
    end = static_cast<int32_t>(std::min<int64_t>(row + bands.slicing.rows, used.end));
    const int64_t pixels = (end - row) * p.w;
    simd::ZeroRow(band, pixels * pixel_stride);
    ForEachTile(bands, slice, band, {row, end},
                [&](auto block, const BinTile<float>& tile) HWY_ATTR {
                  using Block = decltype(block);
                  AddToPixels<Block>(
                      tile, blocks::Divide(Block::Load(tile.stage), static_cast<float>(tile.area)));
                });
    PixelsToPlanes({band, pixel_stride}, pixels, slice.channels, {planes + row * p.w, plane_stride},
                   [](auto d, auto v) HWY_ATTR { return simd::CanonicalNan(d, v); });
  }
}

// Stages the gradients of one RoI.
void StageRoi(const Bands& bands, const float* grad_output, float* stage) {
  const Problem& p = bands.p;
  PlanesToPixels(grad_output, p.bins(), p.bins(), p.output_dim, stage, bands.BinStride());
}

}  // namespace mluop::torchvision_ps_roi_pool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(SumSlice);
HWY_EXPORT(StageRoi);

mluOpStatus_t RunBands(const CpuCall<Problem>& call, void* scratch) {
  const Gradients t(call.arguments);
  const Bands bands(call, kBackwardBand, scratch);
  const auto stage_roi = HWY_DYNAMIC_DISPATCH(StageRoi);
  const auto sum = HWY_DYNAMIC_DISPATCH(SumSlice);
  bands.ForEachRoi([&](int64_t r, float* stage) {
    stage_roi(bands, t.grad_output + r * call.p.channels(), stage);
  });
  bands.ForEachSlice(
      [&](const Slice& slice, float* band) { sum(bands, slice, t.grad_input, band); });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"bands", "always", Always, BandBytes<kBackwardBand>, RunBands, DescribeBands<kBackwardBand>},
    CpuImplementation<Problem>::ForDouble(RunDoubleBackward),
};

}  // namespace

constexpr CpuOperator kBackwardCpu =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
