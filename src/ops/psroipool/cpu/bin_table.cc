// SPDX-License-Identifier: Apache-2.0
#include "ops/psroipool/cpu/bin_table.h"

#include <algorithm>

#include "cpu/scratch.h"

namespace mluop::psroipool {
namespace {

// Returns the sum of the spans' sizes.
int64_t FillSpans(const Axis& axis, int group, int size, Span* spans) {
  int64_t sum = 0;
  for (int i = 0; i < group; ++i) {
    spans[i] = BinSpan(axis, i, size);
    sum += spans[i].size();
  }
  return sum;
}

int32_t WidthOf(std::span<const Span> bins) {
  int32_t most = 0, least = INT32_MAX;
  for (const Span& bin : bins) {
    most = std::max(most, bin.end - bin.begin);
    least = std::min(least, bin.end - bin.begin);
  }
  return least > 0 ? most : 0;
}

}  // namespace

size_t BinTable::Bytes(const Problem& p) {
  const auto rois = static_cast<size_t>(p.rois);
  const size_t bytes =
      rois * (2 * static_cast<size_t>(p.group) * sizeof(Span) + 2 * sizeof(int32_t));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

BinTable::BinTable(const Problem& p, void* memory)
    : group_(p.group),
      spans_(static_cast<Span*>(memory)),
      images_(reinterpret_cast<int32_t*>(spans_ + p.rois * 2 * p.group)),
      widths_(images_ + p.rois) {}

int64_t BinTable::Fill(const Problem& p, const float* rois, int64_t roi) {
  Axis x, y;
  int32_t image;
  Span* rows = spans_ + roi * 2 * p.group;
  if (!PlaceRoi(p, rois + roi * 5, &image, &x, &y)) {
    images_[roi] = 0;
    widths_[roi] = 0;
    std::fill_n(rows, 2 * int64_t{p.group}, Span{0, 0});
    return 0;
  }
  images_[roi] = image;
  const int64_t height = FillSpans(y, p.group, p.h, rows);
  const int64_t width = FillSpans(x, p.group, p.w, rows + p.group);
  widths_[roi] = WidthOf({rows + p.group, static_cast<size_t>(p.group)});
  return height * width;
}

}  // namespace mluop::psroipool
