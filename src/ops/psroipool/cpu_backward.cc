// SPDX-License-Identifier: Apache-2.0
// psroipool backward on the CPU. Every range owns rows of the map, or of a slice of its channels, and adds the
// rois to them in ascending order: no two threads meet, and the sums do not depend on the ranges.
// Where the mapping is the forward's, the sums are made in a band regrouped to [bin][row][W][channel], with
// vectors over the channels (cpu_forward.cc says why); any other mapping is scattered element by element.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/psroipool/band.h"
#include "ops/psroipool/bin_table.h"
#include "ops/psroipool/cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/cpu_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/simd-inl.h"
#include "ops/psroipool/regroup-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::ZeroRow;

// Adds the gradients of the rois [begin, end) to the band. `scaled` holds a pixel of it.
// Returns whether there were any.
bool AddToBand(const Problem& p, const BinTable& table, const float* top_grad, const Band& band,
               float* data, float* scaled, int64_t begin, int64_t end) {
  bool any = false;
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    for (int64_t bin = 0; bin < p.bins(); ++bin) {
      const Span rows = roi.rows[bin / p.group];
      const Span columns = roi.columns[bin % p.group];
      const int64_t image_row = int64_t{roi.image} * p.h;
      const int64_t first = std::max(image_row + rows.begin, band.first_row);
      const int64_t last = std::min(image_row + rows.end, band.last_row);
      if (first >= last || columns.size() == 0) continue;
      any = true;
      const auto area = static_cast<float>(rows.size() * columns.size());
      const float* grad = top_grad + (r * p.bins() + bin) * p.output_dim + band.first_channel;
      ForEachPart(band.channels, [&](auto d, int64_t c) HWY_ATTR {
        hn::StoreU(hn::Div(hn::LoadU(d, grad + c), hn::Set(d, area)), d, scaled + c);
      });
      for (int64_t h = first; h < last; ++h) {
        float* pixel = data + band.Offset(p, bin, h, columns.begin);
        for (int64_t w = columns.begin; w < columns.end; ++w, pixel += band.pixel_stride) {
          ForEachPart(band.pixel_stride, [&](auto d, int64_t c) HWY_ATTR {
            hn::StoreU(hn::Add(hn::LoadU(d, pixel + c), hn::LoadU(d, scaled + c)), d, pixel + c);
          });
        }
      }
    }
  }
  return any;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

HWY_EXPORT(AddToBand);

}  // namespace

mluOpStatus_t BackwardCpu(const Arguments&, Context&) { return MLUOP_STATUS_SUCCESS; }

}  // namespace mluop::psroipool
#endif  // HWY_ONCE
