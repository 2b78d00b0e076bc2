// SPDX-License-Identifier: Apache-2.0
// The memory of the table of bins (bin_table.h).
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

bool ShouldRepack(const Problem& p, const float* rois) {
  return roi::BinsHavePixels(p, p.group, p.group, p.rows() * p.w * p.bins() / kStridedCost,
                             [&](int64_t r) { return PlaceRoi(p, rois + r * 5); });
}

}  // namespace mluop::psroipool
