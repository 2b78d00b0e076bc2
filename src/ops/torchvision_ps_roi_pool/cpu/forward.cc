// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool forward on the CPU. The sum of a bin has one order, torchvision's, so
// that vectors can only go over channels. Their planes lie pooled_h*pooled_w apart: slices of the
// map (slices.h) are regrouped to [pixel][channel] and pooled from there.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"
#include "ops/torchvision_ps_roi_pool/cpu/slices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ZeroRow;

// The rows of a bin that a band has.
struct Piece {
  const float* corner;
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  bool first, last;  // of the bin's pieces
  float area;        // of the bin
};

// Adds kCount vectors of channels from c on, pixel by pixel. The sum of a bin waits in the stage
// for its next piece; the last one makes it the mean.
template <int kCount, class D>
HWY_INLINE void AddPiece(D d, const Piece& piece, int64_t c, float* stage) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const float* from, int64_t k) HWY_ATTR {
    return k < kCount ? hn::LoadU(d, from + k * lanes) : hn::Zero(d);
  };
  const auto start = [&](int64_t k) HWY_ATTR { return piece.first ? hn::Zero(d) : load(stage, k); };
  auto sum0 = start(0), sum1 = start(1), sum2 = start(2);
  auto sum3 = start(3), sum4 = start(4), sum5 = start(5);
  WithColumns<kCount>(piece.columns, [&](auto columns) HWY_ATTR {
    const float* row = piece.corner + c;
    for (int64_t h = 0; h < piece.rows; ++h, row += piece.row_stride) {
      const float* pixel = row;
      for (int64_t w = 0; w < columns; ++w, pixel += piece.column_stride) {
        sum0 = hn::Add(sum0, load(pixel, 0));
        sum1 = hn::Add(sum1, load(pixel, 1));
        sum2 = hn::Add(sum2, load(pixel, 2));
        sum3 = hn::Add(sum3, load(pixel, 3));
        sum4 = hn::Add(sum4, load(pixel, 4));
        sum5 = hn::Add(sum5, load(pixel, 5));
      }
    }
  });
  const auto finish = [&](auto sum, int64_t k) HWY_ATTR {
    if (k >= kCount) return;
    if (piece.last) sum = hn::Div(sum, hn::Set(d, piece.area));
    hn::StoreU(sum, d, stage + k * lanes);
  };
  finish(sum0, 0);
  finish(sum1, 1);
  finish(sum2, 2);
  finish(sum3, 3);
  finish(sum4, 4);
  finish(sum5, 5);
}

// Adds what the band, the rows [begin, end), has of the slice's bins.
void PoolBand(const Problem& p, const RoiTable& table, const Cut& cut, const Slice& slice,
              const float* band, int64_t begin, int64_t end) {
  WithVectors(slice.channels, [&](auto d, auto count) HWY_ATTR {
    for (int64_t place = table.Begin(slice.image); place < table.End(slice.image); ++place) {
      const Box box = table.At(slice.ph, slice.pw, place);
      const int64_t top = std::max<int64_t>(box.rows.begin, begin);
      const int64_t bottom = std::min<int64_t>(box.rows.end, end);
      float* stage = slice.stage + place * cut.stage_stride;
      if (top >= bottom || box.columns.size() == 0) {
        if (box.area() == 0) ZeroRow(stage, WholeVectors(slice.channels));
        continue;
      }
      const Piece piece = {band + ((top - begin) * p.w + box.columns.begin) * cut.pixel_stride,
                           bottom - top,
                           box.columns.size(),
                           p.w * cut.pixel_stride,
                           cut.pixel_stride,
                           top == box.rows.begin,
                           bottom == box.rows.end,
                           static_cast<float>(box.area())};
      ForEachGroup(d, count, slice.channels, [&](auto vectors, int64_t c) HWY_ATTR {
        AddPiece<vectors.value>(d, piece, c, stage + c);
      });
    }
  });
}

// The slice's part of the stage. `band` is the worker's own memory.
void PoolSlice(const Problem& p, const RoiTable& table, const Cut& cut, const Slice& slice,
               const float* input, float* band) {
  const float* planes = input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span reach = table.Reach(slice.image, slice.ph);
  // Where there is nothing to read, one band of no rows still writes the zeros of empty bins.
  for (int64_t row = reach.begin; row == reach.begin || row < reach.end; row += cut.rows) {
    const int64_t end = std::min<int64_t>(row + cut.rows, reach.end);
    PlanesToPixels(planes + row * p.w, p.bins() * p.pixels(), (end - row) * p.w, slice.channels,
                   band, cut.pixel_stride);
    PoolBand(p, table, cut, slice, band, row, end);
  }
}

// The chunk's channels from first_channel on of the rois at the places [begin, end).
void WriteRois(const Problem& p, const RoiTable& table, const Cut& cut, const float* stage,
               int64_t first_channel, float* output, int64_t begin, int64_t end) {
  const int64_t channels = std::min(cut.chunk, p.output_dim - first_channel);
  for (int64_t place = begin; place < end; ++place) {
    PixelsToPlanes(stage + place * cut.stage_stride, p.rois * cut.stage_stride, p.bins(), channels,
                   output + table.Roi(place) * p.channels() + first_channel * p.bins(), p.bins());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(PoolSlice);
HWY_EXPORT(WriteRois);

// Planes of one bin that are read together: each is a chain of additions, which alone would wait
// for every one.
constexpr int64_t kPlanes = 8;

// The means of one bin in kCount planes, from the map itself, to every bins-th output.
template <int64_t kCount>
void PoolPlanes(const Problem& p, const float* planes, const Box& box, float* output) {
  const int64_t plane_stride = p.bins() * p.pixels();
  float sums[kCount] = {};
  for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
    for (int64_t w = box.columns.begin; w < box.columns.end; ++w) {
      const float* pixel = planes + h * p.w + w;
      for (int64_t k = 0; k < kCount; ++k) sums[k] += pixel[k * plane_stride];
    }
  }
  const int64_t area = box.area();
  for (int64_t k = 0; k < kCount; ++k) {
    output[k * p.bins()] = area == 0 ? 0.0f : sums[k] / static_cast<float>(area);
  }
}

// The channels [first, first+kPlanes), as far as there are, of the roi at a place.
void PoolRoi(const Problem& p, const RoiTable& table, const float* input, int64_t place,
             int64_t first, float* output) {
  const int64_t roi = table.Roi(place);
  const int64_t image = table.Image(roi);
  const int64_t end = std::min(first + kPlanes, p.output_dim);
  for (int64_t bin = 0; bin < p.bins(); ++bin) {
    const Box box = table.At(bin / p.pooled_w, bin % p.pooled_w, place);
    const float* planes = input + p.Plane(image, first, bin);
    float* to = output + roi * p.channels() + first * p.bins() + bin;
    if (end - first == kPlanes) {
      PoolPlanes<kPlanes>(p, planes, box, to);
      continue;
    }
    for (int64_t c = 0; c < end - first; ++c) {
      PoolPlanes<1>(p, planes + c * p.bins() * p.pixels(), box, to + c * p.bins());
    }
  }
}

void PoolDirectly(const Problem& p, const RoiTable& table, int64_t bin_elements, const float* input,
                  float* output, ThreadPool& threads) {
  const int64_t blocks = (p.output_dim + kPlanes - 1) / kPlanes;
  const int64_t items = table.size() * blocks;
  const int64_t work = bin_elements / std::max<int64_t>(items, 1) + p.bins();
  threads.For(items, kGrain / work + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      PoolRoi(p, table, input, i / blocks, i % blocks * kPlanes, output);
    }
  });
}

void PoolRegrouped(const Problem& p, const RoiTable& table, const Cut& cut, const float* input,
                   float* memory, float* output, ThreadPool& threads) {
  const auto pool = HWY_DYNAMIC_DISPATCH(PoolSlice);
  const auto write = HWY_DYNAMIC_DISPATCH(WriteRois);
  float* const bands = memory + cut.StageFloats(p);
  for (int64_t c = 0; c < p.output_dim; c += cut.chunk) {
    ForEachSlice(p, cut, c, memory, threads, [&](const Slice& slice, int worker) {
      pool(p, table, cut, slice, input, bands + worker * cut.BandFloats(p));
    });
    threads.For(table.size(), kGrain / (cut.chunk * p.bins()) + 1,
                [&](int64_t begin, int64_t end, int) {
                  write(p, table, cut, memory, c, output, begin, end);
                });
  }
}

// Rois that lie on no image.
void ZeroOthers(const Problem& p, const RoiTable& table, float* output) {
  if (table.size() == p.rois) return;
  for (int64_t r = 0; r < p.rois; ++r) {
    if (table.Image(r) < 0) std::fill_n(output + r * p.channels(), p.channels(), 0.0f);
  }
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& a, CpuContext& context) {
  const Problem p = MakeProblem(a);
  const float* input = a.In<float>("input");
  float* output = a.Out<float>("output");
  if (a.Tensor("input").ByteCount() == 0) {
    std::fill_n(output, p.rois * p.channels(), 0.0f);
    return MLUOP_STATUS_SUCCESS;
  }
  ThreadPool& threads = context.threads();
  const Cut cut = MakeCut(p, kForwardBand, threads.num_threads());
  const auto floats = static_cast<size_t>(MemoryFloats(p, cut, threads.num_threads()));
  char* scratch = static_cast<char*>(context.Scratch(RoiTable::Bytes(p) + sizeof(float) * floats));
  RoiTable table(p, scratch);
  const int64_t elements = table.Fill(p, a.In<float>("rois"), threads) * p.output_dim;
  ZeroOthers(p, table, output);
  if (IsWorthRegrouping(p, cut, elements)) {
    PoolRegrouped(p, table, cut, input, reinterpret_cast<float*>(scratch + RoiTable::Bytes(p)),
                  output, threads);
  } else {
    PoolDirectly(p, table, elements, input, output, threads);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
