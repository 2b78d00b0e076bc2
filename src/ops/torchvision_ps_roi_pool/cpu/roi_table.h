// SPDX-License-Identifier: Apache-2.0
// The RoIs of a call sorted by image, in ascending order within an image, and the spans of their bins.
// They are computed once per call: every bin visits every RoI of its image.
#pragma once

#include <algorithm>

#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "cpu/tuning.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

// The pixels of a bin: none where one of the spans is empty.
struct BinBox {
  Span rows;
  Span columns;

  int64_t area() const { return int64_t{rows.size()} * columns.size(); }
};

// The boxes of one bin of all RoIs.
struct BinBoxes {
  const Span* rows;
  const Span* columns;

  BinBox At(int64_t position) const { return {rows[position], columns[position]}; }
};

// A position is the index of a RoI in the table's order. Empty RoIs have none.
class RoiTable {
 public:
  RoiTable(const Problem& p, ScratchArrays& scratch)
      : n_(p.n),
        rois_(p.rois),
        pooled_h_(p.pooled_h),
        first_(scratch.Take<int64_t>(p.n + 1)),
        rows_(scratch.Take<Span>(p.pooled_h * p.rois)),
        columns_(scratch.Take<Span>(p.pooled_w * p.rois)),
        used_rows_(scratch.Take<Span>(p.n * p.pooled_h)),
        order_(scratch.Take<int32_t>(p.rois)),
        images_(scratch.Take<int32_t>(p.rois)) {}

  void Fill(const Problem& p, const float* rois, ThreadPool& threads) {
    Sort(p, rois);
    const int64_t grain = kGrain / (8 * (int64_t{p.pooled_h} + p.pooled_w)) + 1;
    threads.ForEach(size(), grain, [&](int64_t i, int) {
      const Place place = PlaceRoi(p, rois + Roi(i) * 5);
      for (int ph = 0; ph < p.pooled_h; ++ph) rows_[ph * rois_ + i] = place.Rows(p, ph);
      for (int pw = 0; pw < p.pooled_w; ++pw) columns_[pw * rois_ + i] = place.Columns(p, pw);
    });
    threads.ForEach(n_ * pooled_h_, kGrain / (rois_ / n_ + 1) + 1, [&](int64_t i, int) {
      used_rows_[i] = FindUsedRows(i / pooled_h_, i % pooled_h_);
    });
  }

  int64_t Begin(int64_t image) const { return first_[image]; }
  int64_t End(int64_t image) const { return first_[image + 1]; }
  int64_t size() const { return first_[n_]; }
  int64_t Roi(int64_t position) const { return order_[position]; }
  bool IsEmpty(int64_t roi) const { return images_[roi] < 0; }
  // The boxes of bin (ph, pw), by position.
  BinBoxes BoxesOf(int64_t ph, int64_t pw) const {
    return {rows_ + ph * rois_, columns_ + pw * rois_};
  }
  // The rows of an image that the bins (ph, any) of its RoIs use.
  Span UsedRows(int64_t image, int64_t ph) const { return used_rows_[image * pooled_h_ + ph]; }

 private:
  // A counting sort: RoIs of one image keep their order, in which gradients are added.
  void Sort(const Problem& p, const float* rois) {
    std::fill_n(first_, n_ + 1, 0);
    for (int64_t r = 0; r < rois_; ++r) {
      const int64_t image = ImageOfRoi(p, rois + r * 5);
      images_[r] = static_cast<int32_t>(image);
      if (image >= 0) ++first_[image + 1];
    }
    for (int64_t image = 0; image < n_; ++image) first_[image + 1] += first_[image];
    for (int64_t r = 0; r < rois_; ++r) {
      if (images_[r] >= 0) order_[first_[images_[r]]++] = static_cast<int32_t>(r);
    }
    for (int64_t image = n_; image > 0; --image) first_[image] = first_[image - 1];
    first_[0] = 0;
  }

  Span FindUsedRows(int64_t image, int64_t ph) const {
    if (Begin(image) == End(image)) return {0, 0};
    Span used = rows_[ph * rois_ + Begin(image)];
    for (int64_t i = Begin(image); i < End(image); ++i) {
      const Span rows = rows_[ph * rois_ + i];
      used = {std::min(used.begin, rows.begin), std::max(used.end, rows.end)};
    }
    return used;
  }

  int64_t n_;
  int64_t rois_;
  int64_t pooled_h_;
  int64_t* first_;   // [N+1]
  Span* rows_;       // [pooled_h, R]: contiguous over RoIs, as one bin reads them
  Span* columns_;    // [pooled_w, R]
  Span* used_rows_;  // [N, pooled_h]
  int32_t* order_;   // [R]
  int32_t* images_;  // [R], in the caller's order; -1: the RoI is empty
};

}  // namespace mluop::torchvision_ps_roi_pool
