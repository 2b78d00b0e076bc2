// SPDX-License-Identifier: Apache-2.0
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"
#include "cpu/tuning.h"

#include <atomic>

#include "cpu/scratch.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

// roi = [batch, x1, y1, x2, y2]. False where it lies on no image.
bool PlaceRoi(const Problem& p, const float* roi, Axis* x, Axis* y) {
  return MakeAxis(p, roi[1], roi[3], p.pooled_w, x) && MakeAxis(p, roi[2], roi[4], p.pooled_h, y);
}

}  // namespace

size_t RoiTable::Bytes(const Problem& p) {
  const int64_t spans = (int64_t{p.pooled_h} + p.pooled_w) * p.rois + p.n * p.pooled_h;
  const auto bytes = sizeof(int64_t) * static_cast<size_t>(p.n + 1) +
                     sizeof(Span) * static_cast<size_t>(spans) +
                     2 * sizeof(int32_t) * static_cast<size_t>(p.rois);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

RoiTable::RoiTable(const Problem& p, void* memory)
    : n_(p.n),
      rois_(p.rois),
      pooled_h_(p.pooled_h),
      first_(static_cast<int64_t*>(memory)),
      rows_(reinterpret_cast<Span*>(first_ + p.n + 1)),
      columns_(rows_ + p.pooled_h * p.rois),
      reach_(columns_ + p.pooled_w * p.rois),
      order_(reinterpret_cast<int32_t*>(reach_ + p.n * p.pooled_h)),
      images_(order_ + p.rois) {}

// A counting sort, so that rois of one image keep their order: gradients are added in it.
void RoiTable::Sort(const Problem& p, const float* rois) {
  std::fill_n(first_, n_ + 1, 0);
  for (int64_t r = 0; r < rois_; ++r) {
    Axis x, y;
    const float* roi = rois + r * 5;
    const int64_t image = PlaceRoi(p, roi, &x, &y) ? ImageOf(p, roi[0]) : -1;
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

int64_t RoiTable::FillSpans(const Problem& p, const float* rois, int64_t begin, int64_t end) {
  int64_t pixels = 0;
  for (int64_t place = begin; place < end; ++place) {
    Axis x, y;
    PlaceRoi(p, rois + Roi(place) * 5, &x, &y);
    int64_t height = 0, width = 0;
    for (int ph = 0; ph < p.pooled_h; ++ph) {
      height += (rows_[ph * rois_ + place] = BinSpan(y, ph, p.h)).size();
    }
    for (int pw = 0; pw < p.pooled_w; ++pw) {
      width += (columns_[pw * rois_ + place] = BinSpan(x, pw, p.w)).size();
    }
    pixels += height * width;
  }
  return pixels;
}

Span RoiTable::FindReach(int64_t image, int64_t ph) const {
  if (Begin(image) == End(image)) return {0, 0};
  Span reach = rows_[ph * rois_ + Begin(image)];
  for (int64_t place = Begin(image); place < End(image); ++place) {
    const Span rows = rows_[ph * rois_ + place];
    reach = {std::min(reach.begin, rows.begin), std::max(reach.end, rows.end)};
  }
  return reach;
}

int64_t RoiTable::Fill(const Problem& p, const float* rois, ThreadPool& threads) {
  Sort(p, rois);
  std::atomic<int64_t> pixels = 0;
  const int64_t grain = kGrain / (8 * (int64_t{p.pooled_h} + p.pooled_w)) + 1;
  threads.For(size(), grain,
              [&](int64_t begin, int64_t end, int) { pixels += FillSpans(p, rois, begin, end); });
  threads.For(n_ * pooled_h_, kGrain / (rois_ / n_ + 1) + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) reach_[i] = FindReach(i / pooled_h_, i % pooled_h_);
  });
  return pixels;
}

}  // namespace mluop::torchvision_ps_roi_pool
