// SPDX-License-Identifier: Apache-2.0
// The bins of all RoIs of a call, and the RoIs sorted by image, in ascending order within an image.
// They are computed once per call: every bin visits every RoI of its image.
#pragma once

#include <algorithm>

#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "cpu/tuning.h"
#include "ops/roi/cpu/tuning.h"
#include "ops/roi/planes.h"
#include "ops/roi/span.h"

namespace mluop::roi {

// The pixels of a bin: none where one of the spans is empty.
struct BinBox {
  Span rows;
  Span columns;

  int64_t area() const { return int64_t{rows.size()} * columns.size(); }
};

// The boxes of one bin, by position.
struct BinBoxes {
  const Span* rows;
  const Span* columns;

  BinBox At(int64_t position) const { return {rows[position], columns[position]}; }
};

// A position is the index of a RoI in the table's order. RoIs without an image have none.
class RoiTable {
 public:
  RoiTable(const Planes& p, ScratchArrays& scratch)
      : p_(p),
        first_(scratch.Take<int64_t>(p.n + 1)),
        rows_(scratch.Take<Span>(p.pooled_h * p.rois)),
        columns_(scratch.Take<Span>(p.pooled_w * p.rois)),
        used_rows_(scratch.Take<Span>(p.n * p.pooled_h)),
        order_(scratch.Take<int32_t>(p.rois)),
        images_(scratch.Take<int32_t>(p.rois)) {}

  // Calls the family's PlaceRoi(p, roi).
  template <class Problem>
  void Fill(const Problem& p, const float* rois, ThreadPool& threads) {
    Sort(rois);
    const int64_t grain = kGrain / (8 * (int64_t{p_.pooled_h} + p_.pooled_w)) + 1;
    threads.ForEach(size(), grain, [&](int64_t i, int) {
      const auto place = PlaceRoi(p, rois + Roi(i) * 5);
      for (int ph = 0; ph < p_.pooled_h; ++ph) rows_[ph * p_.rois + i] = place.Rows(p, ph);
      for (int pw = 0; pw < p_.pooled_w; ++pw) columns_[pw * p_.rois + i] = place.Columns(p, pw);
    });
    threads.ForEach(p_.n * p_.pooled_h, kGrain / (p_.rois / p_.n + 1) + 1, [&](int64_t i, int) {
      used_rows_[i] = FindUsedRows(i / p_.pooled_h, i % p_.pooled_h);
    });
  }

  int64_t Begin(int64_t image) const { return first_[image]; }
  int64_t End(int64_t image) const { return first_[image + 1]; }
  int64_t size() const { return first_[p_.n]; }
  int64_t Roi(int64_t position) const { return order_[position]; }
  // The end of the partial sum (Sum::kGradients) of the RoI at `begin`, at most `end`.
  int64_t PartialEnd(int64_t begin, int64_t end) const {
    const auto next = (order_[begin] / kPartialRois + 1) * kPartialRois;
    return std::lower_bound(order_ + begin, order_ + end, next) - order_;
  }
  bool HasImage(int64_t roi) const { return images_[roi] >= 0; }
  BinBoxes BoxesOf(int64_t ph, int64_t pw) const {
    return {rows_ + ph * p_.rois, columns_ + pw * p_.rois};
  }
  // The rows of an image that the bins (ph, any) of its RoIs use.
  Span UsedRows(int64_t image, int64_t ph) const { return used_rows_[image * p_.pooled_h + ph]; }

 private:
  // A counting sort: RoIs of one image keep their order, in which gradients are added.
  void Sort(const float* rois) {
    std::fill_n(first_, p_.n + 1, 0);
    for (int64_t r = 0; r < p_.rois; ++r) {
      const int64_t image = ImageOf(p_.n, rois[r * 5]);
      images_[r] = static_cast<int32_t>(image);
      if (image >= 0) ++first_[image + 1];
    }
    for (int64_t image = 0; image < p_.n; ++image) first_[image + 1] += first_[image];
    for (int64_t r = 0; r < p_.rois; ++r) {
      if (images_[r] >= 0) order_[first_[images_[r]]++] = static_cast<int32_t>(r);
    }
    for (int64_t image = p_.n; image > 0; --image) first_[image] = first_[image - 1];
    first_[0] = 0;
  }

  Span FindUsedRows(int64_t image, int64_t ph) const {
    if (Begin(image) == End(image)) return {0, 0};
    const Span* const rows = rows_ + ph * p_.rois;
    Span used = rows[Begin(image)];
    for (int64_t i = Begin(image); i < End(image); ++i) {
      used = {std::min(used.begin, rows[i].begin), std::max(used.end, rows[i].end)};
    }
    return used;
  }

  Planes p_;
  int64_t* first_;   // [N+1]
  Span* rows_;       // [pooled_h, R]: contiguous over RoIs, as one bin reads them
  Span* columns_;    // [pooled_w, R]
  Span* used_rows_;  // [N, pooled_h]
  int32_t* order_;   // [R]
  int32_t* images_;  // [R], in the caller's order; -1: none
};

}  // namespace mluop::roi
