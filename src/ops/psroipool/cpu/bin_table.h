// SPDX-License-Identifier: Apache-2.0
// The bins of all RoIs of a call. They are computed once per call: every band visits every RoI.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "cpu/tuning.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/tuning.h"

namespace mluop::psroipool {

struct RoiBins {
  int64_t first_row;              // the first of Problem::rows() in the RoI's image
  std::span<const Span> rows;     // [G], within [0, H)
  std::span<const Span> columns;  // [G], within [0, W)
  int32_t width;                  // of the widest bin; 0 if any bin has no columns

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
  // A multiple of kAlignment.
  static size_t Bytes(const Problem& p) {
    const size_t bytes =
        static_cast<size_t>(p.rois) *
        (sizeof(int64_t) + sizeof(int32_t) + 2 * sizeof(Span) * static_cast<size_t>(p.group));
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  BinTable(const Problem& p, void* memory)
      : group_(p.group),
        first_rows_(static_cast<int64_t*>(memory)),
        spans_(reinterpret_cast<Span*>(first_rows_ + p.rois)),
        widths_(reinterpret_cast<int32_t*>(spans_ + p.rois * 2 * p.group)) {}

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

// Forward of the RoIs [first_roi, last_roi).
struct Pooling {
  const Problem& p;
  const BinTable& table;
  const float* input;
  float* output;
  int64_t first_roi, last_roi;
};

// Backward of all RoIs.
struct GradientSum {
  const Problem& p;
  const BinTable& table;
  const float* top_grad;
};

// Returns true if the bins have enough pixels to be worth repacking the whole map. Usually decided
// after the first RoIs.
inline bool ShouldRepack(const Problem& p, const float* rois) {
  return roi::BinsHavePixels(p, p.group, p.group, p.rows() * p.w * p.bins() / kStridedCost,
                             [&](int64_t r) { return PlaceRoi(p, rois + r * 5); });
}

}  // namespace mluop::psroipool
