// SPDX-License-Identifier: Apache-2.0
// Means of bins from a band. Included once per instruction set, as Highway wants it.

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

#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

// Bins in memory, those of a roi one after the other.
struct Bins {
  float* data;
  int64_t roi_stride, bin_stride;

  float* At(int64_t roi, int64_t bin) const { return data + roi * roi_stride + bin * bin_stride; }
};

// Where the sum of a bin waits for its next strip, in whole vectors, and where its mean goes.
struct Results {
  Bins sums, means;

  // From channel `c` of a roi on.
  Results Of(int64_t roi, int64_t c) const {
    const auto moved = [&](const Bins& bins) HWY_ATTR {
      return Bins{bins.At(roi, 0) + c, bins.roi_stride, bins.bin_stride};
    };
    return {moved(sums), moved(means)};
  }
};

// Some rows of a row of bins.
struct Strip {
  const float* data;  // column 0 of the first bin
  float* sum;         // of the first bin
  float* mean;        // of the first bin
  std::span<const Span> bins;
  int64_t bin_height;  // with all strips
  int64_t rows;
  bool first, last;  // of its bins' strips
};

// The last strip makes the sum the mean.
template <class G, class L>
HWY_INLINE void Finish(const G& g, const L& sum, const Strip& strip, int64_t columns, float* to,
                       float* mean) {
  if (!strip.last) return StoreLanes(g, sum, to);
  StoreExisting(g, Over(g.d, sum, static_cast<float>(strip.bin_height * columns)), mean);
}

// One row of a bin.
template <int kColumns, class G>
HWY_INLINE auto SumColumns(const G& g, const Columns<kColumns>& columns, const float* row) {
  auto sum = LoadLanes(g, row + columns.at[0]);
  for (int w = 1; w < kColumns; ++w) sum = Plus(sum, LoadLanes(g, row + columns.at[w]));
  return sum;
}

// Bins of which none is empty or has more than kColumns columns.
template <int kColumns, class G>
HWY_INLINE void PoolEven(const G& g, const Band& band, const Results& results, const Strip& strip) {
  const float* data = strip.data;
  float* place = strip.sum;
  float* mean = strip.mean;
  for (const Span& span : strip.bins) {
    const Columns<kColumns> columns(band, span);
    const float* row = data;
    auto sum = SumColumns(g, columns, row);
    for (int64_t h = 1; h < strip.rows; ++h) {
      row += band.row_stride;
      sum = Plus(sum, SumColumns(g, columns, row));
    }
    // Begun with 0, as PoolUneven begins its pieces: a mean of -0.0 is 0.
    sum = Plus(strip.first ? Splat(g, 0.0f) : LoadLanes(g, place), sum);
    Finish(g, sum, strip, span.size(), place, mean);
    data += band.bin_stride;
    place += results.sums.bin_stride;
    mean += results.means.bin_stride;
  }
}

// Some columns of a strip, row by row.
template <class G>
HWY_INLINE auto SumPiece(const G& g, const Band& band, const float* row, int64_t rows,
                         int64_t columns) {
  auto sum = Splat(g, 0.0f);
  for (int64_t h = 0; h < rows; ++h, row += band.row_stride) {
    auto line = LoadLanes(g, row);
    for (int64_t w = 1; w < columns; ++w) {
      line = Plus(line, LoadLanes(g, row + w * band.pixel_stride));
    }
    sum = Plus(sum, line);
  }
  return sum;
}

// Any bins.
template <class G>
HWY_INLINE void PoolUneven(const G& g, const Band& band, const Results& results,
                           const Strip& strip) {
  for (size_t i = 0; i < strip.bins.size(); ++i) {
    const Span span = strip.bins[i];
    if (span.size() == 0) continue;
    const float* data = strip.data + static_cast<int64_t>(i) * band.bin_stride;
    float* place = strip.sum + static_cast<int64_t>(i) * results.sums.bin_stride;
    float* mean = strip.mean + static_cast<int64_t>(i) * results.means.bin_stride;
    auto sum = strip.first ? Splat(g, -0.0f) : LoadLanes(g, place);
    for (int64_t w = span.begin; w < span.end; w += kPiece) {
      const float* corner = data + w * band.pixel_stride;
      sum = Plus(sum, SumPiece(g, band, corner, strip.rows, std::min(kPiece, span.end - w)));
    }
    Finish(g, sum, strip, span.size(), place, mean);
  }
}

// A roi whose bins have up to kColumns columns, with 0 any number. `results` are the roi's.
template <int kColumns, class G>
HWY_INLINE void PoolRoi(const G& g, const Problem& p, const RoiBins& roi, const Band& band,
                        const float* data, const Results& results) {
  const int64_t image_row = int64_t{roi.image} * p.h;
  for (int64_t ph = 0; ph < p.group; ++ph) {
    const Span span = roi.rows[static_cast<size_t>(ph)];
    const int64_t top = image_row + span.begin;
    const int64_t bottom = image_row + span.end;
    const int64_t last = std::min(bottom, band.last_row);
    for (int64_t h = std::max(top, band.first_row); h < last; h += kPiece) {
      const int64_t rows = std::min(kPiece, last - h);
      const Span bins = BinsInRow(p, band.slice, ph);
      const int64_t bin = ph * p.group + bins.begin;
      const auto columns =
          roi.columns.subspan(static_cast<size_t>(bins.begin), static_cast<size_t>(bins.size()));
      const Strip strip = {data + band.Offset(h, bin),
                           results.sums.At(0, bin),
                           results.means.At(0, bin),
                           columns,
                           span.size(),
                           rows,
                           h == top,
                           h + rows == bottom};
      if constexpr (kColumns > 0) {
        PoolEven<kColumns>(g, band, results, strip);
      } else {
        PoolUneven(g, band, results, strip);
      }
    }
  }
}

// Not inline: the compiler has registers for one group at a time.
template <class G>
HWY_NOINLINE void PoolGroup(const G& g, int64_t c, const Pooling& pooling, const Band& band,
                            const float* data, const Results& results) {
  for (int64_t r = pooling.first_roi; r < pooling.last_roi; ++r) {
    const RoiBins roi = pooling.table[r];
    if (!Meets(pooling.p, roi, band)) continue;
    WithWidth(roi.width, [&](auto width) HWY_ATTR {
      PoolRoi<width.value>(g, pooling.p, roi, band, data + c, results.Of(r, c));
    });
  }
}

// Adds what the band holds of the bins of the rois.
HWY_INLINE void PoolBand(const Pooling& pooling, const Band& band, const float* data,
                         const Results& results) {
  const int64_t channels = band.slice.channels;
  WithVectors(channels, [&](auto d, auto count) HWY_ATTR {
    ForEachGroup(d, count, channels, [&](auto group, int64_t c) HWY_ATTR {
      PoolGroup(group, c, pooling, band, data, results);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_CPU_POOL_INL_H_
