// SPDX-License-Identifier: Apache-2.0
// The bins of all RoIs of a call. They are computed once per call: every band visits every RoI.
#pragma once

#include <span>

#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "cpu/tuning.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/tuning.h"

namespace mluop::psroipool {

struct RoiBins {
  int64_t first_row;              // of the RoI's image in Problem::rows()
  std::span<const Span> rows;     // [G], within [0, H)
  std::span<const Span> columns;  // [G], within [0, W)
  int32_t width;                  // columns of the widest bin; 0 if any bin has none

  bool has_empty() const {
    return width == 0 ||
           std::any_of(rows.begin(), rows.end(), [](const Span& row) { return row.size() == 0; });
  }
  bool Overlaps(const Band& band) const {
    return first_row + rows.front().begin < band.last_row &&
           first_row + rows.back().end > band.first_row;
  }
};

// An empty RoI has empty bins in image 0.
class BinTable {
 public:
  BinTable(const Problem& p, ScratchArrays& scratch)
      : group_(p.group),
        first_rows_(scratch.Take<int64_t>(p.rois)),
        spans_(scratch.Take<Span>(p.rois * 2 * p.group)),
        widths_(scratch.Take<int32_t>(p.rois)) {}

  RoiBins operator[](int64_t roi) const {
    const Span* spans = spans_ + roi * 2 * group_;
    const auto group = static_cast<size_t>(group_);
    return {first_rows_[roi], {spans, group}, {spans + group_, group}, widths_[roi]};
  }

  template <typename Real>
  void Fill(const Problem& p, const Real* rois, int64_t roi) {
    const PlaceOf<Real> place = PlaceRoi(p, rois + roi * 5);
    Span* const rows = spans_ + roi * 2 * p.group;
    Span* const columns = rows + p.group;
    int32_t most = 0, least = p.w;
    for (int i = 0; i < p.group; ++i) {
      rows[i] = place.Rows(p, i);
      columns[i] = place.Columns(p, i);
      most = std::max(most, columns[i].size());
      least = std::min(least, columns[i].size());
    }
    first_rows_[roi] = std::max<int64_t>(place.image, 0) * p.h;
    widths_[roi] = least > 0 ? most : 0;
  }
  template <typename Real>
  void FillAll(const Problem& p, const Real* rois, ThreadPool& threads) {
    threads.ForEach(p.rois, kGrain / (16 * p.group) + 1, [&](int64_t r, int) { Fill(p, rois, r); });
  }

 private:
  int64_t group_;
  int64_t* first_rows_;  // [R]
  Span* spans_;          // [R, 2, G]
  int32_t* widths_;      // [R]
};

// The scratch of a call: the table and `count` elements.
template <typename Real>
struct TableScratch {
  ScratchArrays arrays;
  BinTable table;
  Real* elements;

  TableScratch(const Problem& p, int64_t count, void* memory)
      : arrays(memory), table(p, arrays), elements(arrays.Take<Real>(count)) {}
};

// Holds the arguments of forward for the RoIs [first_roi, last_roi).
struct Pooling {
  const Problem& p;
  const BinTable& table;
  const float* input;
  float* output;
  int64_t first_roi, last_roi;
};

// Holds the arguments of backward for all RoIs.
struct GradientSum {
  const Problem& p;
  const BinTable& table;
  const float* top_grad;
};

// Returns true if the bins have enough pixels to justify repacking the map. Stops as soon as the RoIs
// read so far decide it.
inline bool ShouldRepack(const Problem& p, const float* rois) {
  return roi::BinsHavePixels(p, rois, p.rows() * p.w * p.bins() / kStridedCost);
}

}  // namespace mluop::psroipool
