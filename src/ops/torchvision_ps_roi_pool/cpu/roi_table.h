// SPDX-License-Identifier: Apache-2.0
// The rois of a call that lie on an image, image by image and in ascending order within one, and
// the spans of their bins: worked out once, because every roi is looked at again for each bin.
#pragma once

#include <cstddef>

#include "cpu/thread_pool.h"
#include "ops/torchvision_ps_roi_pool/problem.h"

namespace mluop::torchvision_ps_roi_pool {

// Where the pixels of a bin lie: none where one of the spans is empty.
struct Box {
  Span rows;
  Span columns;

  int64_t area() const { return rows.size() * columns.size(); }
};

// A place is the index of a roi in the table's order.
class RoiTable {
 public:
  static size_t Bytes(const Problem& p);  // a multiple of kAlignment

  RoiTable(const Problem& p, void* memory);

  // Returns the pixels of all bins, those of two bins counted twice.
  int64_t Fill(const Problem& p, const float* rois, ThreadPool& threads);

  int64_t Begin(int64_t image) const { return first_[image]; }
  int64_t End(int64_t image) const { return first_[image + 1]; }
  int64_t size() const { return first_[n_]; }
  int64_t Roi(int64_t place) const { return order_[place]; }
  int64_t Image(int64_t roi) const { return images_[roi]; }  // -1: it lies on none
  Box At(int64_t ph, int64_t pw, int64_t place) const {
    return {rows_[ph * rois_ + place], columns_[pw * rois_ + place]};
  }
  // The rows that the bins (ph, any) of an image's rois are within.
  Span Reach(int64_t image, int64_t ph) const { return reach_[image * pooled_h_ + ph]; }

 private:
  void Sort(const Problem& p, const float* rois);
  int64_t FillSpans(const Problem& p, const float* rois, int64_t begin, int64_t end);
  Span FindReach(int64_t image, int64_t ph) const;

  int64_t n_;
  int64_t rois_;
  int64_t pooled_h_;
  int64_t* first_;   // [N+1]
  Span* rows_;       // [pooled_h, R]: a bin's neighbours in memory are those of the next roi
  Span* columns_;    // [pooled_w, R]
  Span* reach_;      // [N, pooled_h]
  int32_t* order_;   // [R]
  int32_t* images_;  // [R], in the caller's order
};

}  // namespace mluop::torchvision_ps_roi_pool
