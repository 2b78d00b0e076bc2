// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on the CPU. The sum of a bin has one order, torchvision's, so that
// vectors can only go over channels. Their planes lie pooled_h*pooled_w apart: slices of the map
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

using mluop::HWY_NAMESPACE::ZeroRow;
using roi::HWY_NAMESPACE::AddVecs;
using roi::HWY_NAMESPACE::Divide;

// Adds the band [begin, end) to the slice's bins. The sum of a bin is carried in the stage from band to
// band; the last one makes it the mean.
void PoolBand(const Problem& p, const RoiTable& table, const Slicing& slicing, const Slice& slice,
              const float* band, Span of_band) {
  ForEachChannelBlock<kBlockVectors>(slice.channels, [&](auto block, int64_t c) HWY_ATTR {
    using Block = decltype(block);
    for (int64_t i = table.Begin(slice.image); i < table.End(slice.image); ++i) {
      const BinBox box = table.At(slice.ph, slice.pw, i);
      const int32_t top = std::max(box.rows.begin, of_band.begin);
      const int32_t bottom = std::min(box.rows.end, of_band.end);
      float* const stage = slice.stage + i * slicing.stage_stride + c;
      if (box.area() == 0) Block::Store(Block::Set(0.0f), stage);
      if (top >= bottom || box.columns.size() == 0) continue;
      const BinTile<const float> tile = {
          band + ((top - of_band.begin) * p.w + box.columns.begin) * slicing.pixel_stride + c,
          bottom - top, box.columns.size(), p.w * slicing.pixel_stride, slicing.pixel_stride};
      auto sum = top == box.rows.begin ? Block::Set(0.0f) : Block::Load(stage);
      tile.ForEachPixel<Block::kCount>([&](const float* pixel)
                                           HWY_ATTR { sum = AddVecs(sum, Block::Load(pixel)); });
      if (bottom == box.rows.end) sum = Divide(sum, static_cast<float>(box.area()));
      Block::Store(sum, stage);
    }
  });
}

// Writes the slice's part of the stage. `band` is the worker's memory.
void PoolSlice(const Problem& p, const RoiTable& table, const Slicing& slicing, const Slice& slice,
               const float* input, float* band) {
  const float* planes = input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span used = table.UsedRows(slice.image, slice.ph);
  // Where no row is used, one band of no rows still writes the zeros of empty bins.
  for (int64_t row = used.begin; row == used.begin || row < used.end; row += slicing.rows) {
    const int64_t end = std::min<int64_t>(row + slicing.rows, used.end);
    PlanesToPixels(planes + row * p.w, p.bins() * p.pixels(), (end - row) * p.w, slice.channels,
                   band, slicing.pixel_stride);
    PoolBand(p, table, slicing, slice, band,
             {static_cast<int32_t>(row), static_cast<int32_t>(end)});
  }
}

// Writes the chunk's channels from first_channel on of the RoI at a position.
void WriteRoi(const Problem& p, const Slicing& slicing, const float* stage, int64_t first_channel,
              float* output) {
  PixelsToPlanes(stage, p.rois * slicing.stage_stride, p.bins(),
                 std::min(slicing.chunk, p.output_dim - first_channel),
                 output + first_channel * p.bins(), p.bins());
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

mluOpStatus_t RunBands(const ForwardCall& call, void* scratch) {
  const Problem& p = call.p;
  const Tensors t(call.arguments);
  ThreadPool& threads = call.context.threads();
  const Slicing slicing = MakeSlicing(call, kForwardBand);
  RoiTable table(p, scratch);
  table.Fill(p, t.rois, threads);
  for (int64_t r = 0; r < p.rois; ++r) {
    if (table.IsEmpty(r)) std::fill_n(t.output + r * p.channels(), p.channels(), 0.0f);
  }
  auto* const stage = reinterpret_cast<float*>(static_cast<char*>(scratch) + RoiTable::Bytes(p));
  float* const bands = stage + slicing.StageFloats(p);
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const auto write = HWY_DYNAMIC_DISPATCH(WriteRoi);
  for (int64_t c = 0; c < p.output_dim; c += slicing.chunk) {
    ForEachSlice(p, slicing, c, stage, threads, [&](const Slice& slice, int worker) {
      pool(p, table, slicing, slice, t.input, bands + worker * slicing.BandFloats(p));
    });
    threads.For(table.size(), kGrain / (slicing.chunk * p.bins()) + 1,
                [&](int64_t begin, int64_t end, int) {
                  for (int64_t i = begin; i < end; ++i) {
                    write(p, slicing, stage + i * slicing.stage_stride, c,
                          t.output + table.Roi(i) * p.channels());
                  }
                });
  }
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
  call.context.threads().For(
      p.rois * blocks, kGrain / work + 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t r = i / blocks, first = i % blocks * kDirectPlanes;
          float* const to = t.output + r * p.channels();
          const Place place = p.pixels() == 0 ? Place{-1, {}, {}} : PlaceRoi(p, t.rois + r * 5);
          if (place.image < 0) {
            const int64_t channels = std::min(kDirectPlanes, p.output_dim - first);
            std::fill_n(to + first * p.bins(), channels * p.bins(), 0.0f);
          } else {
            PoolRoi(p, t.input, place, first, to);
          }
        }
      });
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kForward[] = {
    {"bands", "a row fits the L2, and the bins have at least 1/4 of the elements of the map",
     BandsApply<kForwardBand>, BandBytes<kForwardBand>, RunBands, DescribeBands<kForwardBand>},
    {"direct", "always", Always, nullptr, RunDirect},
};

}  // namespace

constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("torchvision_ps_roi_pool_forward");

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
