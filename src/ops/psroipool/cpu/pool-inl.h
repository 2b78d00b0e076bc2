// SPDX-License-Identifier: Apache-2.0
// Means of bins from a band. Included once per instruction set, hence without a guard.

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/repack-inl.h"
#include "ops/psroipool/cpu/tuning.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool::HWY_NAMESPACE {

// Outputs of a band: means of the bins that end in it; partial and total sums of bins that continue
// in the next band. They start at the first channel of the slice or block.
struct PooledBins {
  float* means;     // [RoI][bin][output_dim]
  float* partials;  // [RoI][bin of the slice][bin_stride]
  int64_t totals;   // distance of a bin's total from its partial
};

// The rows of a bin row within one band and one partial sum.
struct BinRows {
  const float* data;  // column 0 of the first bin
  float* mean;        // of the first bin
  float* partial;     // of the first bin
  float* total;       // of the first bin
  std::span<const Span> columns;
  int64_t rows;
  int64_t bin_height;  // of the whole bins
  bool starts_partial, ends_partial, first_partial, ends_bin;
};

// Stores the partial sum of a bin, or adds it to the total, or makes the total the mean.
template <class Block>
HWY_INLINE void FinishBin(const Block& block, const typename Block::Vecs& partial,
                          const BinRows& bin, int64_t columns) {
  if (!bin.ends_partial) return Block::Store(partial, bin.partial);
  const auto sum =
      simd::AddVecs(bin.first_partial ? Block::Set(0.0f) : Block::Load(bin.total), partial);
  if (!bin.ends_bin) return Block::Store(sum, bin.total);
  block.StorePartial(blocks::Mean(sum, static_cast<float>(bin.bin_height * columns)), bin.mean);
}

// Pools bins that are not empty and have at most kColumns columns. kColumns = 0 handles any bins,
// and sums rows in chunks.
template <int kColumns, class Block>
HWY_INLINE void PoolBins(const Block& block, const Problem& p, const Band& band, BinRows bins) {
  for (const Span& span : bins.columns) {
    const PaddedColumns<kColumns> columns(band, span);
    const auto sum_row = [&](const float* row) HWY_ATTR {
      if constexpr (kColumns > 0) {
        auto sum = Block::Load(row + columns.offsets[0]);
        for (int w = 1; w < kColumns; ++w) {
          sum = simd::AddVecs(sum, Block::Load(row + columns.offsets[w]));
        }
        return sum;
      }
      auto sum = Block::Set(-0.0f);  // the additive identity: it preserves the sign of zero
      for (int64_t first = span.begin; first < span.end; first += kChunkColumns) {
        auto chunk = Block::Load(row + first * band.pixel_stride);
        const int64_t end = std::min<int64_t>(first + kChunkColumns, span.end);
        for (int64_t w = first + 1; w < end; ++w) {
          chunk = simd::AddVecs(chunk, Block::Load(row + w * band.pixel_stride));
        }
        sum = simd::AddVecs(sum, chunk);
      }
      return sum;
    };
    if (kColumns > 0 || span.size() > 0) {
      const float* row = bins.data;
      auto partial = sum_row(row);
      if (!bins.starts_partial) partial = simd::AddVecs(Block::Load(bins.partial), partial);
      for (int64_t h = 1; h < bins.rows; ++h) {
        row += band.row_stride;
        partial = simd::AddVecs(partial, sum_row(row));
      }
      FinishBin(block, partial, bins, span.size());
    }
    bins.data += band.bin_stride;
    bins.mean += p.output_dim;
    bins.partial += band.bin_stride;
    bins.total += band.bin_stride;
  }
}

// Pools the rows of a RoI that lie in the band. Pointers start at the RoI and the block's first
// channel.
template <int kColumns, class Block>
HWY_INLINE void PoolRoi(const Block& block, const Problem& p, const RoiBins& roi, const Band& band,
                        const float* data, const PooledBins& pooled) {
  for (int64_t ph = 0; ph < p.group; ++ph) {
    const Span span = roi.rows[static_cast<size_t>(ph)];
    const int64_t top = roi.first_row + span.begin, bottom = roi.first_row + span.end;
    const int64_t last = std::min(bottom, band.last_row);
    for (int64_t h = std::max(top, band.first_row), end; h < last; h = end) {
      const int64_t partial_row = (h - top) % kPartialRows,
                    partial_end = h - partial_row + kPartialRows;
      end = std::min(partial_end, last);
      const Span bins = BinsInRow(p, band.slice, ph);
      const int64_t bin = ph * p.group + bins.begin;
      float* const partial = pooled.partials + (bin - band.slice.first_bin) * band.bin_stride;
      PoolBins<kColumns>(
          block, p, band,
          {data + band.Offset(h, bin), pooled.means + bin * p.output_dim, partial,
           partial + pooled.totals,
           roi.columns.subspan(static_cast<size_t>(bins.begin), static_cast<size_t>(bins.size())),
           end - h, span.size(), partial_row == 0, end == bottom || end == partial_end,
           h - top < kPartialRows, end == bottom});
    }
  }
}

// Pools the rows of the RoIs that lie in the band. Not inlined, to limit register pressure to one
// block. Copies what the loops read, because stores may alias references (0.96x the time on
// 14x14x392 with 320 RoIs, AVX2, Zen 4).
template <class Block>
HWY_NOINLINE void PoolRois(const Block& block, int64_t c, const Pooling& pooling,
                           const Band& of_map, const float* data, const PooledBins& pooled) {
  const Problem p = pooling.p;
  const Band band = of_map;
  const BinTable table = pooling.table;
  const int64_t last_roi = pooling.last_roi;
  for (int64_t r = pooling.first_roi; r < last_roi; ++r) {
    const RoiBins roi = table[r];
    if (!roi.Overlaps(band)) continue;
    const PooledBins own = {pooled.means + r * p.channels() + c,
                            pooled.partials + r * band.pixel_stride + c, pooled.totals};
    WithWidth(roi.width, [&](auto width) HWY_ATTR {
      PoolRoi<width.value>(block, p, roi, band, data + c, own);
    });
  }
}

}  // namespace mluop::psroipool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
