// SPDX-License-Identifier: Apache-2.0
// Fills the table of bins (bin_table.h).
#include "ops/psroipool/cpu/bin_table.h"

#include "cpu/scratch.h"
#include "ops/psroipool/cpu/tuning.h"

namespace mluop::psroipool {

size_t BinTable::Bytes(const Problem& p) {
  const size_t bytes =
      static_cast<size_t>(p.rois) *
      (sizeof(int64_t) + sizeof(int32_t) + 2 * sizeof(Span) * static_cast<size_t>(p.group));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

BinTable::BinTable(const Problem& p, void* memory)
    : group_(p.group),
      first_rows_(static_cast<int64_t*>(memory)),
      spans_(reinterpret_cast<Span*>(first_rows_ + p.rois)),
      widths_(reinterpret_cast<int32_t*>(spans_ + p.rois * 2 * p.group)) {}

void BinTable::Fill(const Problem& p, const float* rois, int64_t roi) {
  const Place place = PlaceRoi(p, rois + roi * 5);
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

bool ShouldRepack(const Problem& p, const float* rois) {
  return roi::BinsHavePixels(p, p.group, p.group, p.rows() * p.w * p.bins() / kStridedCost,
                             [&](int64_t r) { return PlaceRoi(p, rois + r * 5); });
}

}  // namespace mluop::psroipool
