// SPDX-License-Identifier: Apache-2.0
// psroipool backward on the CPU. A range owns rows of the map, or a slice of their channels, and
// adds the rois to them in ascending order: no two threads meet, and the sums do not depend on the
// ranges. Where the mapping is the forward's, the sums are made in a band regrouped to
// [row][column][bin][channel], with vectors over the channels (cpu_forward.cc says why); any other
// mapping is scattered (scatter.h).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu/tuning.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/scatter.h"
#include "ops/psroipool/cpu/tuning.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/cpu/regroup-inl.h"
#include "ops/psroipool/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::ZeroRow;

// What a band has of a row of bins.
struct Strip {
  float* data;            // column 0 of the first bin
  const float* top_grad;  // of the first bin
  int64_t bin_height;     // with the rows that the band has not
  int64_t rows;
};

// Bins of which none is empty or has more than kColumns columns. What the neutral pixel gets is
// never looked at.
template <int kColumns, class G>
HWY_INLINE void AddEven(const G& g, const Problem& p, const Band& band, const RoiBins& roi,
                        const Strip& strip) {
  float* data = strip.data;
  const float* top_grad = strip.top_grad;
  for (const Span& span : roi.columns) {
    const Columns<kColumns> columns(band, span);
    const auto area = static_cast<float>(strip.bin_height * span.size());
    const auto share = Over(g.d, LoadExisting(g, top_grad), area);
    float* row = data;
    for (int64_t h = 0; h < strip.rows; ++h, row += band.row_stride) {
      for (int w = 0; w < kColumns; ++w) AddLanes(g, share, row + columns.at[w]);
    }
    top_grad += p.output_dim;
    data += band.bin_stride;
  }
}

// Any bins.
template <class G>
HWY_INLINE void AddUneven(const G& g, const Problem& p, const Band& band, const RoiBins& roi,
                          const Strip& strip) {
  float* data = strip.data;
  const float* top_grad = strip.top_grad;
  for (const Span& span : roi.columns) {
    const auto area = static_cast<float>(strip.bin_height * span.size());
    const auto share = Over(g.d, LoadExisting(g, top_grad), area);
    float* row = data + span.begin * band.pixel_stride;
    for (int64_t h = 0; h < strip.rows; ++h, row += band.row_stride) {
      for (int64_t w = 0; w < span.size(); ++w) AddLanes(g, share, row + w * band.pixel_stride);
    }
    top_grad += p.output_dim;
    data += band.bin_stride;
  }
}

// Adds one roi, as far as it is in the band. `top_grad` is the roi's; it and `data` are those of the
// group's first channel on.
template <class G>
HWY_INLINE void AddRoi(const G& g, const Problem& p, const Band& band, const RoiBins& roi,
                       const float* top_grad, float* data) {
  const int64_t image_row = int64_t{roi.image} * p.h;
  for (int64_t ph = 0; ph < p.group; ++ph) {
    const Span rows = roi.rows[static_cast<size_t>(ph)];
    const int64_t first = std::max(image_row + rows.begin, band.first_row);
    const int64_t last = std::min(image_row + rows.end, band.last_row);
    if (first >= last) continue;
    const Strip strip = {data + band.Offset(first, ph * p.group),
                         top_grad + ph * p.group * p.output_dim, rows.size(), last - first};
    WithWidth(roi.width, [&](auto width) HWY_ATTR {
      if constexpr (width.value > 0) return AddEven<width.value>(g, p, band, roi, strip);
      AddUneven(g, p, band, roi, strip);
    });
  }
}

// The rois [begin, end).
struct Rois {
  int64_t begin, end;
};

// Not inline: the compiler has registers for one group at a time.
template <class G>
HWY_NOINLINE bool AddGroup(const G& g, const Problem& p, const BinTable& table, const Band& band,
                           Rois rois, const float* top_grad, float* data) {
  bool any = false;
  for (int64_t r = rois.begin; r < rois.end; ++r) {
    const RoiBins roi = table[r];
    if (!Meets(p, roi, band)) continue;
    any = true;
    AddRoi(g, p, band, roi, top_grad + r * p.channels(), data);
  }
  return any;
}

// Adds the rois to the band's `data`. False if none of them has a row in it.
HWY_INLINE bool AddRois(const Problem& p, const BinTable& table, const float* top_grad,
                        const Band& band, float* data, Rois rois) {
  const Slice& slice = band.slice;
  bool any = false;
  WithVectors(slice.channels, [&](auto d, auto count) HWY_ATTR {
    ForEachGroup(d, count, slice.channels, [&](auto group, int64_t c) HWY_ATTR {
      const float* grads = top_grad + slice.first_channel + c;
      any |= AddGroup(group, p, table, band, rois, grads, data + c);
    });
  });
  return any;
}

// The band's rows and channels of bottom_grad where no roi is.
void ZeroRows(const Problem& p, const Band& band, float* bottom_grad) {
  const Slice& slice = band.slice;
  float* pixel =
      bottom_grad + band.first_row * p.w * p.channels() + p.Channel(0, slice.first_channel);
  for (int64_t i = (band.last_row - band.first_row) * p.w; i > 0; --i, pixel += p.channels()) {
    ZeroRow(pixel, slice.channels * p.bins());
  }
}

// The band's rows and channels of bottom_grad.
void SumBand(const Problem& p, const BinTable& table, const float* top_grad, const Band& band,
             const Sums& sums, float* bottom_grad) {
  ZeroRow(sums.total, band.floats());
  bool any = false;
  if (p.rois <= kRoisOfPart) {
    any = AddRois(p, table, top_grad, band, sums.total, {0, p.rois});
  } else {
    for (int64_t r = 0; r < p.rois; r += kRoisOfPart) {
      ZeroRow(sums.part, band.floats());
      const Rois rois = {r, std::min(r + kRoisOfPart, p.rois)};
      if (!AddRois(p, table, top_grad, band, sums.part, rois)) continue;
      ForEach<float>(band.floats(), [&](auto d, int64_t i) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, sums.total + i), hn::LoadU(d, sums.part + i)), d,
                   sums.total + i);
      });
      any = true;
    }
  }
  if (!any) return ZeroRows(p, band, bottom_grad);
  UngroupRows(p, sums.total, band, bottom_grad);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(SumBand);

// How the map is cut into bands.
struct Cut {
  int64_t rows, channels;     // of a band
  int64_t row_bands, slices;  // how many
};

// Rows are cut as the L2 wants it, channels only where one row is too long. Each worker should find
// some bands, but none that is not worth it: every band looks at every roi.
Cut MakeCut(const Problem& p, int num_threads) {
  const auto slice = [&](int64_t channels) { return Slice{0, p.bins(), 0, channels}; };
  int64_t channels = p.output_dim;
  if (BandFloats(p, 1, slice(channels)) > kBackwardBand) {
    const int64_t fitting = kBackwardBand / (p.w * p.bins()) / kLeastSlice * kLeastSlice;
    channels = std::clamp(fitting, kLeastSlice, std::max(kLeastSlice, channels));
  }
  const int64_t work = p.map_elements() + p.rois * p.channels();
  const int64_t wanted = std::clamp<int64_t>(work / kGrain, 1, 4 * num_threads);
  const int64_t rows =
      std::min(RowsWithin(p, slice(channels), kBackwardBand), (p.rows() + wanted - 1) / wanted);
  return {rows, channels, (p.rows() + rows - 1) / rows, (p.output_dim + channels - 1) / channels};
}

// Fills the table. Returns the pixels of all bins.
int64_t FillTable(const Problem& p, const float* rois, BinTable& table, ThreadPool& threads) {
  std::atomic<int64_t> pixels = 0;
  threads.For(p.rois, kGrain / (16 * p.group) + 1, [&](int64_t begin, int64_t end, int) {
    int64_t sum = 0;
    for (int64_t r = begin; r < end; ++r) sum += table.Fill(p, rois, r);
    pixels += sum;
  });
  return pixels;
}

// Whether every element has the channel that forward gives it.
bool IsForwardMapping(const Problem& p, const int32_t* mapping, ThreadPool& threads) {
  for (int64_t bin = 0, i = 0; bin < p.bins(); ++bin) {
    for (int64_t c = 0; c < p.output_dim; ++c) {
      if (mapping[i++] != p.Channel(bin, c)) return false;
    }
  }
  std::atomic<bool> same = true;
  threads.For(p.rois, 4 * kGrain / p.channels() + 1, [&](int64_t begin, int64_t end, int) {
    const size_t bytes = sizeof(int32_t) * static_cast<size_t>(p.channels());
    for (int64_t r = begin; r < end; ++r) {
      if (std::memcmp(mapping, mapping + r * p.channels(), bytes) != 0) same = false;
    }
  });
  return same;
}

// The memory of a worker: Sums.
int64_t WorkerFloats(const Problem& p, const Cut& cut) {
  return 2 * BandFloats(p, cut.rows, {0, p.bins(), 0, cut.channels});
}

void SumBands(const Problem& p, const Gradients& t, const BinTable& table, const Cut& cut,
              float* memory, ThreadPool& threads) {
  const auto sum_band = HWY_DYNAMIC_DISPATCH(SumBand);
  threads.For(cut.row_bands * cut.slices, 1, [&](int64_t begin, int64_t end, int worker) {
    float* const own = memory + worker * WorkerFloats(p, cut);
    const Sums sums = {own, own + WorkerFloats(p, cut) / 2};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / cut.slices * cut.rows;
      const int64_t channel = i % cut.slices * cut.channels;
      const Slice slice = {0, p.bins(), channel, std::min(cut.channels, p.output_dim - channel)};
      const Band band = MakeBand(p, slice, row, std::min(row + cut.rows, p.rows()));
      sum_band(p, table, t.top_grad, band, sums, t.bottom_grad);
    }
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& a, CpuContext& context) {
  const Problem p = MakeProblem(a, a.Float("spatial_scale"));
  const Gradients t = {a.In<float>("top_grad"), a.In<float>("rois"),
                       a.In<int32_t>("mapping_channel"), a.Out<float>("bottom_grad")};
  ThreadPool& threads = context.threads();
  const Cut cut = MakeCut(p, threads.num_threads());
  const int64_t floats = threads.num_threads() * std::max(WorkerFloats(p, cut), p.w * p.channels());
  char* scratch = static_cast<char*>(
      context.Scratch(BinTable::Bytes(p) + sizeof(float) * static_cast<size_t>(floats)));
  auto* memory = reinterpret_cast<float*>(scratch + BinTable::Bytes(p));
  BinTable table(p, scratch);
  const int64_t elements = FillTable(p, t.rois, table, threads) * p.output_dim;
  if (kStridedCost * elements < p.map_elements() || !IsForwardMapping(p, t.mapping, threads)) {
    Scatter(p, t, table, memory, threads);
  } else {
    SumBands(p, t, table, cut, memory, threads);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
