// SPDX-License-Identifier: Apache-2.0
// psroipool backward on the CPU. A worker owns a band of the map (band.h) and adds the RoIs to it
// in ascending order, with vectors over the channels. No two threads write the same element. The
// sums do not depend on the bands. Bands need forward's mapping; any other one is scattered
// (strided.cc).
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/cpu/repack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool::HWY_NAMESPACE {

// The rows of a bin row that lie in the band.
struct GradientRows {
  float* data;            // column 0 of the first bin
  const float* top_grad;  // of the first bin
  int64_t bin_height;     // with the rows outside of the band
  int64_t rows;
};

// Adds bins that are not empty and have at most kColumns columns. kColumns = 0 handles any number
// of columns. Padding values are undefined.
template <int kColumns, class Block>
HWY_INLINE void AddBins(const Block& block, const Problem& p, const Band& band, const RoiBins& roi,
                        const GradientRows& rows) {
  float* data = rows.data;
  const float* top_grad = rows.top_grad;
  for (const Span& span : roi.columns) {
    const auto area = static_cast<float>(rows.bin_height * span.size());
    const auto scaled_grad = blocks::Divide(block.LoadPartial(top_grad), area);
    float* row = data;
    if constexpr (kColumns > 0) {
      const PaddedColumns<kColumns> columns(band, span);
      for (int64_t h = 0; h < rows.rows; ++h, row += band.row_stride) {
        for (int w = 0; w < kColumns; ++w) Block::AddTo(scaled_grad, row + columns.offsets[w]);
      }
    } else {
      for (int64_t h = 0; h < rows.rows; ++h, row += band.row_stride) {
        for (int64_t w = span.begin; w < span.end; ++w) {
          Block::AddTo(scaled_grad, row + w * band.pixel_stride);
        }
      }
    }
    top_grad += p.output_dim;
    data += band.bin_stride;
  }
}

// Adds the rows of one RoI that lie in the band. Pointers start at the block's first channel.
template <class Block>
HWY_INLINE void AddRoi(const Block& block, const Problem& p, const Band& band, const RoiBins& roi,
                       const float* top_grad, float* data) {
  for (int64_t ph = 0; ph < p.group; ++ph) {
    const Span span = roi.rows[static_cast<size_t>(ph)];
    const int64_t first = std::max(roi.first_row + span.begin, band.first_row);
    const int64_t last = std::min(roi.first_row + span.end, band.last_row);
    if (first >= last) continue;
    const GradientRows rows = {data + band.Offset(first, ph * p.group),
                               top_grad + ph * p.group * p.output_dim, span.size(), last - first};
    WithWidth(roi.width,
              [&](auto width) HWY_ATTR { AddBins<width.value>(block, p, band, roi, rows); });
  }
}

struct RoiRange {
  int64_t begin, end;
};

// Adds some RoIs to the band's `data`; returns true if a RoI overlaps the band. Not inlined, to
// limit register pressure to one block. Copies what the loops read, because stores may alias
// references (0.94x the time on 14x14x189 with 493 RoIs, Zen 4).
template <class Block>
HWY_NOINLINE bool AddRois(const Block& block, int64_t c, const GradientSum& sum, const Band& of_map,
                          RoiRange rois, float* data) {
  const Problem p = sum.p;
  const Band band = of_map;
  const BinTable table = sum.table;
  const float* top_grad = sum.top_grad + band.slice.first_channel + c;
  bool any = false;
  for (int64_t r = rois.begin; r < rois.end; ++r) {
    const RoiBins roi = table[r];
    if (!roi.Overlaps(band)) continue;
    any = true;
    AddRoi(block, p, band, roi, top_grad + r * p.channels(), data + c);
  }
  return any;
}

// Zeroes the band's rows and channels of bottom_grad.
void ZeroRows(const Problem& p, const Band& band, float* bottom_grad) {
  const Slice& slice = band.slice;
  float* pixel =
      bottom_grad + band.first_row * p.w * p.channels() + p.Channel(0, slice.first_channel);
  for (int64_t i = (band.last_row - band.first_row) * p.w; i > 0; --i, pixel += p.channels()) {
    simd::ZeroRow(pixel, slice.channels * p.bins());
  }
}

// Writes the band's rows and channels of bottom_grad. `total` is scratch for two bands. The second
// band holds partial sums if there are more than kPartialRois RoIs.
void SumBand(const GradientSum& sum, const Band& band, float* total, float* bottom_grad) {
  const Problem& p = sum.p;
  float* const partial = p.rois <= kPartialRois ? total : total + band.floats();
  bool any = false;
  simd::ZeroRow(total, band.floats());
  for (int64_t r = 0; r < p.rois; r += kPartialRois) {
    if (partial != total) simd::ZeroRow(partial, band.floats());
    bool added = false;
    blocks::ForEachChannelBlock<4>(band.slice.channels, [&](const auto& block, int64_t c) HWY_ATTR {
      added |= AddRois(block, c, sum, band, {r, std::min(r + kPartialRois, p.rois)}, partial);
    });
    any |= added;
    if (partial == total || !added) continue;
    simd::ForEach<float>(band.floats(), [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, total + i), hn::LoadU(d, partial + i)), d, total + i);
    });
  }
  if (!any) return ZeroRows(p, band, bottom_grad);
  UnpackRows(p, total, band, bottom_grad);
}

}  // namespace mluop::psroipool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(SumBand);

// Band sizes and counts.
struct BandPlan {
  int64_t rows, channels;     // of a band
  int64_t row_bands, slices;  // numbers of bands

  // Of a worker: two bands.
  int64_t Floats(const Problem& p) const {
    return 2 * BandFloats(p, rows, {0, p.bins(), 0, channels});
  }
};

// Rows are split to fit the L2, channels only where one row is too long. Aims at several bands per
// worker. More bands cost more, because each band visits every RoI.
BandPlan MakeBandPlan(const CpuCall<Problem>& call) {
  const Problem& p = call.p;
  const auto slice = [&](int64_t channels) { return Slice{0, p.bins(), 0, channels}; };
  int64_t channels = p.output_dim;
  if (BandFloats(p, 1, slice(channels)) > kBackwardBand) {
    const int64_t fitting = kBackwardBand / (p.w * p.bins()) / kMinSlice * kMinSlice;
    channels = std::clamp(fitting, kMinSlice, std::max(kMinSlice, channels));
  }
  const int64_t work = p.map_elements() + p.rois * p.channels();
  const int64_t wanted =
      std::clamp<int64_t>(work / kGrain, 1, 4 * call.context.threads().num_threads());
  const int64_t rows =
      std::min(RowsWithin(p, slice(channels), kBackwardBand), (p.rows() + wanted - 1) / wanted);
  return {rows, channels, (p.rows() + rows - 1) / rows, (p.output_dim + channels - 1) / channels};
}

// Returns true if every element has the channel that forward gives it.
bool IsForwardMapping(const Problem& p, const int32_t* mapping, ThreadPool& threads) {
  for (int64_t bin = 0, i = 0; bin < p.bins(); ++bin) {
    for (int64_t c = 0; c < p.output_dim; ++c) {
      if (mapping[i++] != p.Channel(bin, c)) return false;
    }
  }
  return RoisHaveOneMapping(p, mapping, threads);
}

bool BandsApply(const CpuCall<Problem>& call) {
  return ShouldRepack(call.p, call.arguments.In<float>("rois")) &&
         IsForwardMapping(call.p, call.arguments.In<int32_t>("mapping_channel"),
                          call.context.threads());
}

TableScratch<float> BandScratch(const CpuCall<Problem>& call, const BandPlan& banding,
                                void* memory) {
  return {call.p, call.context.threads().num_threads() * banding.Floats(call.p), memory};
}

size_t BandBytes(const CpuCall<Problem>& call) {
  return BandScratch(call, MakeBandPlan(call), nullptr).arrays.bytes();
}

mluOpStatus_t RunBands(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const Gradients t(call.arguments);
  const BandPlan banding = MakeBandPlan(call);
  TableScratch<float> own = BandScratch(call, banding, scratch);
  ThreadPool& threads = call.context.threads();
  own.table.FillAll(p, t.rois, threads);
  const auto sum_band = HWY_DYNAMIC_DISPATCH(SumBand);
  threads.ForEach(banding.row_bands * banding.slices, 1, [&](int64_t i, int worker) {
    const int64_t row = i / banding.slices * banding.rows;
    const int64_t channel = i % banding.slices * banding.channels;
    const Slice slice = {0, p.bins(), channel, std::min(banding.channels, p.output_dim - channel)};
    const Band band = MakeBand(p, slice, row, std::min(row + banding.rows, p.rows()));
    sum_band({p, own.table, t.top_grad}, band, own.elements + worker * banding.Floats(p),
             t.bottom_grad);
  });
  return MLUOP_STATUS_SUCCESS;
}

void DescribeBands(const CpuCall<Problem>& call, Plan& plan) {
  const BandPlan banding = MakeBandPlan(call);
  plan.Add("bands %" PRId64 " of %" PRId64 " rows and %" PRId64 " channels",
           banding.row_bands * banding.slices, banding.rows, banding.channels);
}

constexpr CpuImplementation<Problem> kBackward[] = {
    {"bands", "forward's mapping, and the bins have at least 1/6 of the elements of the map",
     BandsApply, BandBytes, RunBands, DescribeBands},
    {"scatter", "always", Always, ScatterBytes<float>, RunScatter<float>},
    CpuImplementation<Problem>::ForDouble(RunScatter<double>, ScatterBytes<double>),
};

}  // namespace

constexpr CpuOperator kBackwardCpu = Bind<MakeProblem, kBackward>("psroipool_backward");

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
