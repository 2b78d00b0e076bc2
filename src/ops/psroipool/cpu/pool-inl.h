// SPDX-License-Identifier: Apache-2.0
// Means of bins from a band. Included once per instruction set, as Highway requires.

#if defined(MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_
#undef MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/repack-inl.h"
#include "ops/psroipool/cpu/tuning.h"
#include "ops/roi/cpu/channel_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

using roi::HWY_NAMESPACE::AddVecs;
using roi::HWY_NAMESPACE::ForEachChannelBlock;
using roi::HWY_NAMESPACE::Mean;

// A float array [RoI][bin][channel].
struct BinArray {
  float* data;
  int64_t roi_stride, bin_stride;

  float* At(int64_t roi, int64_t bin) const { return data + roi * roi_stride + bin * bin_stride; }
};

// What a band leaves: the means of bins that end in it, and the part and the total of those that go on
// in the next band.
struct PooledBins {
  BinArray means, parts;
  int64_t totals;  // distance of a bin's total from its part
};

// Rows of a row of bins that lie in one band and in one part of the bins' sums.
struct BinRows {
  const float* data;  // column 0 of the first bin
  float* mean;        // of the first bin
  float* part;        // of the first bin
  std::span<const Span> columns;
  int64_t rows;
  int64_t bin_height;  // of the whole bins
  bool begins_part, ends_part, first_part, ends_bin;
};

template <class Block>
HWY_INLINE void FinishRows(const Block& block, const typename Block::Vecs& part,
                           const PooledBins& pooled, const BinRows& rows, int64_t bin) {
  float* const carried = rows.part + bin * pooled.parts.bin_stride;
  if (!rows.ends_part) return Block::Store(part, carried);
  float* const total = carried + pooled.totals;
  const auto sum = AddVecs(rows.first_part ? Block::Set(0.0f) : Block::Load(total), part);
  if (!rows.ends_bin) return Block::Store(sum, total);
  const int64_t area = rows.bin_height * rows.columns[static_cast<size_t>(bin)].size();
  block.StoreExisting(Mean(sum, static_cast<float>(area)),
                      rows.mean + bin * pooled.means.bin_stride);
}

// Returns what the part of a bin's sum starts with. -0.0f is the additive identity: it preserves the
// sign of zero.
template <class Block>
HWY_INLINE auto BeginPart(const PooledBins& pooled, const BinRows& rows, int64_t bin) {
  return rows.begins_part ? Block::Set(-0.0f)
                          : Block::Load(rows.part + bin * pooled.parts.bin_stride);
}

// Pools bins that are not empty and have at most kColumns columns.
template <int kColumns, class Block>
HWY_INLINE void PoolPadded(const Block& block, const Band& band, const PooledBins& pooled,
                           const BinRows& rows) {
  for (size_t bin = 0; bin < rows.columns.size(); ++bin) {
    const PaddedColumns<kColumns> columns(band, rows.columns[bin]);
    const float* row = rows.data + static_cast<int64_t>(bin) * band.bin_stride;
    auto part = BeginPart<Block>(pooled, rows, static_cast<int64_t>(bin));
    for (int64_t h = 0; h < rows.rows; ++h, row += band.row_stride) {
      auto sum = Block::Load(row + columns.offsets[0]);
      for (int w = 1; w < kColumns; ++w) {
        sum = AddVecs(sum, Block::Load(row + columns.offsets[w]));
      }
      part = AddVecs(part, sum);
    }
    FinishRows(block, part, pooled, rows, static_cast<int64_t>(bin));
  }
}

// Sums one row of a bin, in chunks.
template <class Block>
HWY_INLINE auto SumRow(const float* row, int64_t columns, int64_t pixel_stride) {
  auto sum = Block::Set(-0.0f);
  for (int64_t first = 0; first < columns; first += kChunkColumns) {
    auto chunk = Block::Load(row + first * pixel_stride);
    const int64_t end = std::min(first + kChunkColumns, columns);
    for (int64_t w = first + 1; w < end; ++w) {
      chunk = AddVecs(chunk, Block::Load(row + w * pixel_stride));
    }
    sum = AddVecs(sum, chunk);
  }
  return sum;
}

// Pools any bins.
template <class Block>
HWY_INLINE void PoolGeneric(const Block& block, const Band& band, const PooledBins& pooled,
                            const BinRows& rows) {
  for (size_t bin = 0; bin < rows.columns.size(); ++bin) {
    const Span span = rows.columns[bin];
    if (span.size() == 0) continue;
    const float* row =
        rows.data + static_cast<int64_t>(bin) * band.bin_stride + span.begin * band.pixel_stride;
    auto part = BeginPart<Block>(pooled, rows, static_cast<int64_t>(bin));
    for (int64_t h = 0; h < rows.rows; ++h, row += band.row_stride) {
      part = AddVecs(part, SumRow<Block>(row, span.size(), band.pixel_stride));
    }
    FinishRows(block, part, pooled, rows, static_cast<int64_t>(bin));
  }
}

// Pools the band's part of a RoI. The pointers are those of the RoI and the block.
template <int kColumns, class Block>
HWY_INLINE void PoolRoi(const Block& block, const Problem& p, const RoiBins& roi, const Band& band,
                        const float* data, const PooledBins& pooled) {
  for (int64_t ph = 0; ph < p.group; ++ph) {
    const Span span = roi.rows[static_cast<size_t>(ph)];
    const int64_t top = roi.first_row + span.begin, bottom = roi.first_row + span.end;
    const int64_t last = std::min(bottom, band.last_row);
    for (int64_t h = std::max(top, band.first_row), end; h < last; h = end) {
      const int64_t part_row = (h - top) % kPartRows;
      end = std::min(h - part_row + kPartRows, last);
      const Span bins = BinsInRow(p, band.slice, ph);
      const int64_t bin = ph * p.group + bins.begin;
      const BinRows rows = {
          data + band.Offset(h, bin),
          pooled.means.At(0, bin),
          pooled.parts.At(0, bin),
          roi.columns.subspan(static_cast<size_t>(bins.begin), static_cast<size_t>(bins.size())),
          end - h,
          span.size(),
          part_row == 0,
          end == bottom || end == h - part_row + kPartRows,
          h - top < kPartRows,
          end == bottom};
      if constexpr (kColumns > 0) {
        PoolPadded<kColumns>(block, band, pooled, rows);
      } else {
        PoolGeneric(block, band, pooled, rows);
      }
    }
  }
}

// Not inline: the compiler has registers for one block at a time.
template <class Block>
HWY_NOINLINE void PoolRois(const Block& block, int64_t c, const Pooling& pooling, const Band& band,
                           const float* data, const PooledBins& pooled) {
  for (int64_t r = pooling.first_roi; r < pooling.last_roi; ++r) {
    const RoiBins roi = pooling.table[r];
    if (!roi.Meets(band)) continue;
    const auto of_roi = [&](const BinArray& bins) HWY_ATTR {
      return BinArray{bins.At(r, 0) + c, bins.roi_stride, bins.bin_stride};
    };
    const PooledBins own = {of_roi(pooled.means), of_roi(pooled.parts), pooled.totals};
    WithWidth(roi.width, [&](auto width) HWY_ATTR {
      PoolRoi<width.value>(block, pooling.p, roi, band, data + c, own);
    });
  }
}

// Pools the band's part of the RoIs.
HWY_INLINE void PoolBand(const Pooling& pooling, const Band& band, const float* data,
                         const PooledBins& pooled) {
  ForEachChannelBlock<4>(band.slice.channels, [&](const auto& block, int64_t c) HWY_ATTR {
    PoolRois(block, c, pooling, band, data, pooled);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_
