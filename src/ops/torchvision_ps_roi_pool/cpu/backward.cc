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

// Adds the slice's RoIs to the band.
void AddRois(const Problem& p, const RoiTable& table, const Slicing& slicing, const Slice& slice,
             float* band, Span of_band) {
  ForEachChannelBlock<kBlockVectors>(slice.channels, [&](auto block, int64_t c) HWY_ATTR {
    using Block = decltype(block);
    for (int64_t i = table.Begin(slice.image); i < table.End(slice.image); ++i) {
      const BinBox box = table.At(slice.ph, slice.pw, i);
      const int32_t top = std::max(box.rows.begin, of_band.begin);
      const int32_t bottom = std::min(box.rows.end, of_band.end);
      if (top >= bottom || box.columns.size() == 0) continue;
      const BinTile<float> tile = {
          band + ((top - of_band.begin) * p.w + box.columns.begin) * slicing.pixel_stride + c,
          bottom - top, box.columns.size(), p.w * slicing.pixel_stride, slicing.pixel_stride};
      const auto share = Divide(Block::Load(slice.stage + i * slicing.stage_stride + c),
                                static_cast<float>(box.area()));
      AddToPixels<Block>(tile, share);
    }
  });
}

// Writes the slice's planes of grad_input. `band` is the worker's memory.
void SumSlice(const Problem& p, const RoiTable& table, const Slicing& slicing, const Slice& slice,
              float* grad_input, float* band) {
  const int64_t plane_stride = p.bins() * p.pixels();
  float* planes = grad_input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span used = table.UsedRows(slice.image, slice.ph);
  for (int64_t c = 0; c < slice.channels; ++c) {
    float* plane = planes + c * plane_stride;
    ZeroRow(plane, used.begin * p.w);
    ZeroRow(plane + used.end * p.w, (p.h - used.end) * p.w);
  }
  for (int64_t row = used.begin; row < used.end; row += slicing.rows) {
    const int64_t end = std::min<int64_t>(row + slicing.rows, used.end);
    const int64_t pixels = (end - row) * p.w;
    ZeroRow(band, pixels * slicing.pixel_stride);
    AddRois(p, table, slicing, slice, band, {static_cast<int32_t>(row), static_cast<int32_t>(end)});
    PixelsToPlanes({band, slicing.pixel_stride}, pixels, slice.channels,
                   {planes + row * p.w, plane_stride}, ToCanonicalNan());
  }
}

// Stages the chunk's gradients from first_channel on of one RoI.
void StageRoi(const Problem& p, const Slicing& slicing, const float* grad_output,
              int64_t first_channel, float* stage) {
  PlanesToPixels(grad_output + first_channel * p.bins(), p.bins(), p.bins(),
                 std::min(slicing.chunk, p.output_dim - first_channel), stage,
                 p.rois * slicing.stage_stride);
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
  const Problem& p = call.p;
  const Gradients t(call.arguments);
  ThreadPool& threads = call.context.threads();
  const Slicing slicing = MakeSlicing(call, kBackwardBand);
  RoiTable table(p, scratch);
  table.Fill(p, t.rois, threads);
  auto* const stage = reinterpret_cast<float*>(static_cast<char*>(scratch) + RoiTable::Bytes(p));
  float* const bands = stage + slicing.StageFloats(p);
  const auto stage_roi = HWY_DYNAMIC_DISPATCH(StageRoi);
  const auto sum = HWY_DYNAMIC_DISPATCH(SumSlice);
  for (int64_t c = 0; c < p.output_dim; c += slicing.chunk) {
    threads.For(table.size(), kGrain / (slicing.chunk * p.bins()) + 1,
                [&](int64_t begin, int64_t end, int) {
                  for (int64_t i = begin; i < end; ++i) {
                    stage_roi(p, slicing, t.grad_output + table.Roi(i) * p.channels(), c,
                              stage + i * slicing.stage_stride);
                  }
                });
    ForEachSlice(p, slicing, c, stage, threads, [&](const Slice& slice, int worker) {
      sum(p, table, slicing, slice, t.grad_input, bands + worker * slicing.BandFloats(p));
    });
  }
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
