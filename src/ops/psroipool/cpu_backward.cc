// SPDX-License-Identifier: Apache-2.0
// psroipool backward on the CPU. A range owns rows of the map, or a slice of their channels, and
// adds the rois to them in ascending order: no two threads meet, and the sums do not depend on the
// ranges. Where the mapping is the forward's, the sums are made in a band regrouped to
// [bin][row][W][channel], with vectors over the channels (cpu_forward.cc says why); any other
// mapping is scattered (scatter.h).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/psroipool/band.h"
#include "ops/psroipool/bin_table.h"
#include "ops/psroipool/cpu.h"
#include "ops/psroipool/scatter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/psroipool/regroup-inl.h"
#include "ops/psroipool/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::ZeroRow;

// Some pixels of a bin.
struct Piece {
  float* corner;
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  float area;  // of the bin
};

// Adds kCount vectors of gradients, of which n elements exist, to every pixel. What the last vector
// has beyond is zero, so that the next pixel stays what it is.
template <int kCount, class D>
HWY_INLINE void AddToPiece(D d, const Piece& piece, const float* top_grad, int64_t n, int64_t c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto share = [&](int64_t k) HWY_ATTR {
    if (k >= kCount) return hn::Zero(d);
    const auto grad = LoadFirst(d, top_grad + c + k * lanes, n - c - k * lanes);
    return hn::Div(grad, hn::Set(d, piece.area));
  };
  const auto share0 = share(0), share1 = share(1), share2 = share(2), share3 = share(3);
  const auto add = [&](auto v, float* to)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, to), v), d, to); };
  float* row = piece.corner + c;
  for (int64_t h = 0; h < piece.rows; ++h, row += piece.row_stride) {
    float* pixel = row;
    for (int64_t w = 0; w < piece.columns; ++w, pixel += piece.column_stride) {
      add(share0, pixel);
      if (kCount > 1) add(share1, pixel + lanes);
      if (kCount > 2) add(share2, pixel + 2 * lanes);
      if (kCount > 3) add(share3, pixel + 3 * lanes);
    }
  }
}

// Adds one roi, as far as it is in the band.
template <class D, class Count>
HWY_INLINE void AddRoi(D d, Count count, const Problem& p, const Band& band, const RoiBins& roi,
                       const float* top_grad, float* data) {
  const int64_t image_row = int64_t{roi.image} * p.h;
  for (const Span& rows : roi.rows) {
    const int64_t first = std::max(image_row + rows.begin, band.first_row);
    const int64_t last = std::min(image_row + rows.end, band.last_row);
    for (const Span& columns : roi.columns) {
      if (first < last && columns.size() > 0) {
        const Piece piece = {data + band.Offset(p, 0, first, columns.begin),
                             last - first,
                             columns.size(),
                             p.w * band.pixel_stride,
                             band.pixel_stride,
                             static_cast<float>(rows.size() * columns.size())};
        ForEachGroup(d, count, band.channels, [&](auto vectors, int64_t c) HWY_ATTR {
          AddToPiece<vectors.value>(d, piece, top_grad, band.channels, c);
        });
      }
      top_grad += p.output_dim;
      data += band.bin_stride;
    }
  }
}

// Adds the rois [begin, end) to the band's `data`. False if none of them has a row in it.
HWY_INLINE bool AddRois(const Problem& p, const BinTable& table, const float* top_grad,
                        const Band& band, float* data, int64_t begin, int64_t end) {
  bool any = false;
  WithVectors(band.channels, [&](auto d, auto count) HWY_ATTR {
    for (int64_t r = begin; r < end; ++r) {
      const RoiBins roi = table[r];
      const int64_t image_row = int64_t{roi.image} * p.h;
      if (image_row + roi.rows.front().begin >= band.last_row) continue;
      if (image_row + roi.rows.back().end <= band.first_row) continue;
      any = true;
      AddRoi(d, count, p, band, roi, top_grad + r * p.channels() + band.first_channel, data);
    }
  });
  return any;
}

// The band's rows and channels of bottom_grad.
void SumBand(const Problem& p, const BinTable& table, const float* top_grad, const Band& band,
             const Sums& sums, float* bottom_grad) {
  const int64_t floats = p.bins() * band.bin_stride;
  ZeroRow(sums.total, floats);
  bool any = false;
  if (p.rois <= kRoisOfPart) {
    any = AddRois(p, table, top_grad, band, sums.total, 0, p.rois);
  } else {
    for (int64_t r = 0; r < p.rois; r += kRoisOfPart) {
      const int64_t end = std::min(r + kRoisOfPart, p.rois);
      ZeroRow(sums.part, floats);
      if (!AddRois(p, table, top_grad, band, sums.part, r, end)) continue;
      ForEach<float>(floats, [&](auto d, int64_t i) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, sums.total + i), hn::LoadU(d, sums.part + i)), d,
                   sums.total + i);
      });
      any = true;
    }
  }
  const int64_t pixels = (band.last_row - band.first_row) * p.w;
  float* pixel = bottom_grad + band.first_row * p.w * p.channels() + band.first_channel * p.bins();
  for (int64_t i = 0; i < pixels; ++i, pixel += p.channels()) {
    if (!any) {
      ZeroRow(pixel, band.channels * p.bins());
      continue;
    }
    const float* next = i + 1 < pixels ? pixel + p.channels() : pixel;
    UngroupPixel(sums.total + i * band.pixel_stride, p.bins(), band, pixel, next);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(SumBand);

// A band is at most 512 KiB, a quarter of a usual L2, if one row of 16 channels is no longer.
constexpr int64_t kBandFloats = int64_t{1} << 17;
constexpr int64_t kLeastSlice = 16;

// How the map is cut into bands.
struct Cut {
  int64_t rows, channels;     // of a band
  int64_t row_bands, slices;  // how many
};

// Rows are cut as the L2 wants it, channels only where one row is too long. Each worker should find
// some bands, but none that is not worth it: every band looks at every roi.
Cut MakeCut(const Problem& p, int num_threads) {
  int64_t channels = p.output_dim;
  if (BandFloats(p, 1, channels) > kBandFloats) {
    const int64_t fitting = kBandFloats / (p.w * p.bins()) / kLeastSlice * kLeastSlice;
    channels = std::clamp(fitting, kLeastSlice, std::max(kLeastSlice, channels));
  }
  const int64_t work = p.map_elements() + p.rois * p.channels();
  const int64_t wanted = std::clamp<int64_t>(work / kGrain, 1, 4 * num_threads);
  const int64_t rows =
      std::min(RowsWithin(p, channels, kBandFloats), (p.rows() + wanted - 1) / wanted);
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
  return 2 * BandFloats(p, cut.rows, cut.channels);
}

void SumBands(const Problem& p, const Gradients& t, const BinTable& table, const Cut& cut,
              float* memory, ThreadPool& threads) {
  const auto sum_band = HWY_DYNAMIC_DISPATCH(SumBand);
  const int64_t floats = BandFloats(p, cut.rows, cut.channels);
  threads.For(cut.row_bands * cut.slices, 1, [&](int64_t begin, int64_t end, int worker) {
    float* const own = memory + worker * WorkerFloats(p, cut);
    const Sums sums = {own, own + floats};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / cut.slices * cut.rows;
      const int64_t channel = i % cut.slices * cut.channels;
      const Band band = MakeBand(p, row, std::min(row + cut.rows, p.rows()), channel,
                                 std::min(cut.channels, p.output_dim - channel));
      sum_band(p, table, t.top_grad, band, sums, t.bottom_grad);
    }
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& a, Context& context) {
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
