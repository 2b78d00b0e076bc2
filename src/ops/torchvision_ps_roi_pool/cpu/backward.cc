// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on the CPU. A slice (slicing.h) owns its planes of the gradient and
// adds the RoIs to them in ascending order: no two threads write the same element, and the sums do not
// depend on the implementation. A slice with many RoIs is summed as [pixel][channel], with vectors
// over the channels.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/slicing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::ZeroRow;
using roi::HWY_NAMESPACE::Divide;

// Writes the slice's planes of grad_input. `band` is the worker's memory.
void SumSlice(const Bands& bands, const Slice& slice, float* grad_input, float* band) {
  const Problem& p = bands.p;
  const int64_t plane_stride = p.bins() * p.pixels(), pixel_stride = bands.slicing.pixel_stride;
  float* planes = grad_input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span used = bands.table.UsedRows(slice.image, slice.ph);
  for (int64_t c = 0; c < slice.channels; ++c) {
    float* plane = planes + c * plane_stride;
    ZeroRow(plane, used.begin * p.w);
    ZeroRow(plane + used.end * p.w, (p.h - used.end) * p.w);
  }
  for (int32_t row = used.begin, end; row < used.end; row = end) {
    end = static_cast<int32_t>(std::min<int64_t>(row + bands.slicing.rows, used.end));
    const int64_t pixels = (end - row) * p.w;
    ZeroRow(band, pixels * pixel_stride);
    ForEachTile(
        bands, slice, band, {row, end}, [&](auto block, const BinTile<float>& tile) HWY_ATTR {
          using Block = decltype(block);
          AddToPixels<Block>(tile, Divide(Block::Load(tile.stage), static_cast<float>(tile.area)));
        });
    PixelsToPlanes({band, pixel_stride}, pixels, slice.channels, {planes + row * p.w, plane_stride},
                   ToCanonicalNan());
  }
}

// Stages the gradients of one RoI.
void StageRoi(const Bands& bands, const float* grad_output, float* stage) {
  const Problem& p = bands.p;
  PlanesToPixels(grad_output, p.bins(), p.bins(), p.output_dim, stage, bands.BinStride());
}

// Writes plane `i` of grad_input.
void SumPlane(const Problem& p, const RoiTable& table, const float* grad_output, float* grad_input,
              int64_t i) {
  float* plane = grad_input + i * p.pixels();
  const int64_t image = i / p.channels();
  const int64_t channel = i % p.channels();
  const int64_t bin = channel % p.bins();
  ZeroRow(plane, p.pixels());
  for (int64_t k = table.Begin(image); k < table.End(image); ++k) {
    const BinBox box = table.At(bin / p.pooled_w, bin % p.pooled_w, k);
    if (box.area() == 0) continue;
    const float share =
        grad_output[table.Roi(k) * p.channels() + channel] / static_cast<float>(box.area());
    for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
      float* row = plane + h * p.w + box.columns.begin;
      ForEach<float>(box.columns.size(), [&](auto d, int64_t w) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, row + w), hn::Set(d, share)), d, row + w);
      });
    }
  }
  ForEach<float>(p.pixels(), [&](auto d, int64_t k) HWY_ATTR {
    hn::StoreU(ToCanonicalNan()(d, hn::LoadU(d, plane + k)), d, plane + k);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(SumSlice);
HWY_EXPORT(StageRoi);
HWY_EXPORT(SumPlane);

using BackwardCall = CpuCall<Problem>;

mluOpStatus_t RunBands(const BackwardCall& call, void* scratch) {
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

mluOpStatus_t RunDirect(const BackwardCall& call, void* scratch) {
  const Problem& p = call.p;
  const Gradients t(call.arguments);
  RoiTable table(p, scratch);
  table.Fill(p, t.rois, call.context.threads());
  const auto sum = HWY_DYNAMIC_DISPATCH(SumPlane);
  const int64_t work = p.pixels() + 16 * table.size() / p.n;
  call.context.threads().For(p.n * p.channels(), kGrain / work + 1,
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t i = begin; i < end; ++i)
                                 sum(p, table, t.grad_output, t.grad_input, i);
                             });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"bands", "a row fits the L2, and the bins have at least 1/4 of the elements of the map",
     BandsApply<kBackwardBand>, BandBytes<kBackwardBand>, RunBands, DescribeBands<kBackwardBand>},
    {"direct", "always", Always, [](const BackwardCall& call) { return RoiTable::Bytes(call.p); },
     RunDirect},
};

}  // namespace

constexpr CpuOperator kBackwardCpu =
    Bind<MakeProblem, kBackward>("torchvision_ps_roi_pool_backward");

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
