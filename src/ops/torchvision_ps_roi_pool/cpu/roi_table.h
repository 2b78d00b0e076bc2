// SPDX-License-Identifier: Apache-2.0
// The RoIs of a call sorted by image, in ascending order within an image, and the spans of their bins.
// They are computed once per call: every bin visits every RoI of its image.
#pragma once

#include <cstddef>

#include "cpu/thread_pool.h"
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
  static size_t Bytes(const Problem& p);  // a multiple of kAlignment

  RoiTable(const Problem& p, void* memory);

  void Fill(const Problem& p, const float* rois, ThreadPool& threads);

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
  void Sort(const Problem& p, const float* rois);
  Span FindUsedRows(int64_t image, int64_t ph) const;

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
