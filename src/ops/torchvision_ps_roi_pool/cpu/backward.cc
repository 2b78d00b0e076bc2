// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool backward on the CPU. A slice (slices.h) owns its planes of the gradient
// and adds the rois to them in ascending order: no two threads meet, and the sums are the same with
// any number of them, whichever way they are made. A slice with many rois is summed as
// [pixel][channel], with vectors over the channels.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"
#include "ops/torchvision_ps_roi_pool/cpu/slices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/torchvision_ps_roi_pool/cpu/backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ops/torchvision_ps_roi_pool/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::torchvision_ps_roi_pool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::ZeroRow;

// The rows of a bin that a band has.
struct Piece {
  float* corner;
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  float area;  // of the bin
};

// Adds kCount vectors of gradients to the channels from c on of every pixel.
template <int kCount, class D>
HWY_INLINE void AddToPiece(D d, const Piece& piece, int64_t c, const float* grads) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto share = [&](int64_t k) HWY_ATTR {
    if (k >= kCount) return hn::Zero(d);
    return hn::Div(hn::LoadU(d, grads + k * lanes), hn::Set(d, piece.area));
  };
  const auto share0 = share(0), share1 = share(1), share2 = share(2);
  const auto share3 = share(3), share4 = share(4), share5 = share(5);
  const auto add = [&](auto v, float* to)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, to), v), d, to); };
  WithColumns<kCount>(piece.columns, [&](auto columns) HWY_ATTR {
    float* row = piece.corner + c;
    for (int64_t h = 0; h < piece.rows; ++h, row += piece.row_stride) {
      float* pixel = row;
      for (int64_t w = 0; w < columns; ++w, pixel += piece.column_stride) {
        add(share0, pixel);
        if (kCount > 1) add(share1, pixel + lanes);
        if (kCount > 2) add(share2, pixel + 2 * lanes);
        if (kCount > 3) add(share3, pixel + 3 * lanes);
        if (kCount > 4) add(share4, pixel + 4 * lanes);
        if (kCount > 5) add(share5, pixel + 5 * lanes);
      }
    }
  });
}

// Adds the slice's rois to the band, the rows [begin, end).
void AddRois(const Problem& p, const RoiTable& table, const Cut& cut, const Slice& slice,
             float* band, int64_t begin, int64_t end) {
  WithVectors(slice.channels, [&](auto d, auto count) HWY_ATTR {
    for (int64_t place = table.Begin(slice.image); place < table.End(slice.image); ++place) {
      const Box box = table.At(slice.ph, slice.pw, place);
      const int64_t top = std::max<int64_t>(box.rows.begin, begin);
      const int64_t bottom = std::min<int64_t>(box.rows.end, end);
      if (top >= bottom || box.columns.size() == 0) continue;
      const Piece piece = {band + ((top - begin) * p.w + box.columns.begin) * cut.pixel_stride,
                           bottom - top,
                           box.columns.size(),
                           p.w * cut.pixel_stride,
                           cut.pixel_stride,
                           static_cast<float>(box.area())};
      const float* grads = slice.stage + place * cut.stage_stride;
      ForEachGroup(d, count, slice.channels, [&](auto vectors, int64_t c) HWY_ATTR {
        AddToPiece<vectors.value>(d, piece, c, grads + c);
      });
    }
  });
}

// The slice's planes of grad_input. `band` is the worker's own memory.
void SumSlice(const Problem& p, const RoiTable& table, const Cut& cut, const Slice& slice,
              float* grad_input, float* band) {
  const int64_t plane_stride = p.bins() * p.pixels();
  float* planes = grad_input + p.Plane(slice.image, slice.first_channel, slice.bin);
  const Span reach = table.Reach(slice.image, slice.ph);
  for (int64_t c = 0; c < slice.channels; ++c) {
    float* plane = planes + c * plane_stride;
    ZeroRow(plane, reach.begin * p.w);
    ZeroRow(plane + reach.end * p.w, (p.h - reach.end) * p.w);
  }
  for (int64_t row = reach.begin; row < reach.end; row += cut.rows) {
    const int64_t end = std::min<int64_t>(row + cut.rows, reach.end);
    const int64_t pixels = (end - row) * p.w;
    ZeroRow(band, pixels * cut.pixel_stride);
    AddRois(p, table, cut, slice, band, row, end);
    PixelsToPlanes(band, cut.pixel_stride, pixels, slice.channels, planes + row * p.w,
                   plane_stride);
  }
}

// The chunk's gradients from first_channel on of the rois at the places [begin, end).
void StageRois(const Problem& p, const RoiTable& table, const Cut& cut, const float* grad_output,
               int64_t first_channel, float* stage, int64_t begin, int64_t end) {
  const int64_t channels = std::min(cut.chunk, p.output_dim - first_channel);
  for (int64_t place = begin; place < end; ++place) {
    PlanesToPixels(grad_output + table.Roi(place) * p.channels() + first_channel * p.bins(),
                   p.bins(), p.bins(), channels, stage + place * cut.stage_stride,
                   p.rois * cut.stage_stride);
  }
}

// The planes [begin, end) of grad_input, one by one.
void SumPlanes(const Problem& p, const RoiTable& table, const float* grad_output, float* grad_input,
               int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    float* plane = grad_input + i * p.pixels();
    const int64_t image = i / p.channels();
    const int64_t channel = i % p.channels();
    const int64_t bin = channel % p.bins();
    ZeroRow(plane, p.pixels());
    for (int64_t place = table.Begin(image); place < table.End(image); ++place) {
      const Box box = table.At(bin / p.pooled_w, bin % p.pooled_w, place);
      if (box.area() == 0) continue;
      const float share =
          grad_output[table.Roi(place) * p.channels() + channel] / static_cast<float>(box.area());
      for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
        float* row = plane + h * p.w + box.columns.begin;
        ForEach<float>(box.columns.size(), [&](auto d, int64_t w) HWY_ATTR {
          hn::StoreU(hn::Add(hn::LoadU(d, row + w), hn::Set(d, share)), d, row + w);
        });
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::torchvision_ps_roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::torchvision_ps_roi_pool {
namespace {

HWY_EXPORT(SumSlice);
HWY_EXPORT(StageRois);
HWY_EXPORT(SumPlanes);

void SumRegrouped(const Problem& p, const RoiTable& table, const Cut& cut, const float* grad_output,
                  float* memory, float* grad_input, ThreadPool& threads) {
  const auto stage = HWY_DYNAMIC_DISPATCH(StageRois);
  const auto sum = HWY_DYNAMIC_DISPATCH(SumSlice);
  float* const bands = memory + cut.StageFloats(p);
  for (int64_t c = 0; c < p.output_dim; c += cut.chunk) {
    threads.For(table.size(), kGrain / (cut.chunk * p.bins()) + 1,
                [&](int64_t begin, int64_t end, int) {
                  stage(p, table, cut, grad_output, c, memory, begin, end);
                });
    ForEachSlice(p, cut, c, memory, threads, [&](const Slice& slice, int worker) {
      sum(p, table, cut, slice, grad_input, bands + worker * cut.BandFloats(p));
    });
  }
}

void SumDirectly(const Problem& p, const RoiTable& table, const float* grad_output,
                 float* grad_input, ThreadPool& threads) {
  const auto sum = HWY_DYNAMIC_DISPATCH(SumPlanes);
  const int64_t work = p.pixels() + 16 * table.size() / p.n;
  threads.For(p.n * p.channels(), kGrain / work + 1, [&](int64_t begin, int64_t end, int) {
    sum(p, table, grad_output, grad_input, begin, end);
  });
}

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments& a, CpuContext& context) {
  const Problem p = MakeProblem(a);
  const float* grad_output = a.In<float>("grad_output");
  float* grad_input = a.Out<float>("grad_input");
  ThreadPool& threads = context.threads();
  const Cut cut = MakeCut(p, kBackwardBand, threads.num_threads());
  const auto floats = static_cast<size_t>(MemoryFloats(p, cut, threads.num_threads()));
  char* scratch = static_cast<char*>(context.Scratch(RoiTable::Bytes(p) + sizeof(float) * floats));
  RoiTable table(p, scratch);
  const int64_t elements = table.Fill(p, a.In<float>("rois"), threads) * p.output_dim;
  if (IsWorthRegrouping(p, cut, elements)) {
    SumRegrouped(p, table, cut, grad_output, reinterpret_cast<float*>(scratch + RoiTable::Bytes(p)),
                 grad_input, threads);
  } else {
    SumDirectly(p, table, grad_output, grad_input, threads);
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::torchvision_ps_roi_pool
#endif  // HWY_ONCE
