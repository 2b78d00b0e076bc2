// SPDX-License-Identifier: Apache-2.0
// Which columns of a band some roi reads: the rest of the map need not be regrouped. Included once
// per instruction set, as Highway wants it.

#if defined(MLUOP_OPS_PSROIPOOL_CPU_REACH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_CPU_REACH_INL_H_
#undef MLUOP_OPS_PSROIPOOL_CPU_REACH_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_CPU_REACH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/simd-inl.h"
#include "ops/psroipool/cpu/band.h"
#include "ops/psroipool/cpu/bin_table.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::ForEach;

inline constexpr Span kNothing = {std::numeric_limits<int32_t>::max(), 0};

// Widens each of `bins` spans so that it contains another.
HWY_INLINE void Widen(Span* spans, const Span* others, int64_t bins) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<int32_t, 4> two;
  for (; i + 2 <= bins; i += 2) {
    const auto a = hn::LoadU(two, &spans[i].begin), b = hn::LoadU(two, &others[i].begin);
    hn::StoreU(hn::OddEven(hn::Max(a, b), hn::Min(a, b)), two, &spans[i].begin);
  }
#endif
  for (; i < bins; ++i) {
    spans[i].begin = std::min(spans[i].begin, others[i].begin);
    spans[i].end = std::max(spans[i].end, others[i].end);
  }
}

// Of each bin of a slice, the columns of a band from the first to the last that some roi reads. What
// lies outside of them goes nowhere: to one place, which stays in the first cache. (38x63x3969 with
// 300 and 60 rois takes 1.06 and 1.25 times as long on one thread where only whole tiles are left
// out.)
class Reach {
 public:
  // memory: kReachPixels pixels of the slice. nowhere: the place of what nobody reads
  Reach(const Slice& slice, float* memory, int64_t nowhere)
      : bins_(slice.bins()),
        nowhere_(nowhere),
        places_(reinterpret_cast<int64_t*>(memory)),
        begins_(places_ + bins_),
        ends_(begins_ + bins_),
        offsets_(ends_ + bins_),
        columns_(reinterpret_cast<Span*>(offsets_ + bins_)),
        tiles_(columns_ + bins_) {
    // A bin has room for four floats at least in each pixel, and four bins or more make a tile.
    static_assert(4 * sizeof(int64_t) + 2 * sizeof(Span) <= kReachPixels * 4 * sizeof(float));
    for (int64_t b = 0; b < bins_; ++b) offsets_[b] = b * WholeVectors(slice.channels);
  }

  // `side` bins each are a tile.
  void Find(const Pooling& pooling, const Band& band, int64_t side) {
    const Problem& p = pooling.p;
    std::fill_n(columns_, bins_, kNothing);
    for (int64_t r = pooling.first_roi; r < pooling.last_roi; ++r) {
      const RoiBins roi = pooling.table[r];
      if (!Meets(p, roi, band)) continue;
      for (int64_t ph = 0; ph < p.group; ++ph) {
        const Span bins = BinsInRow(p, band.slice, ph);
        if (bins.size() == 0 || !Meets(p, roi, roi.rows[static_cast<size_t>(ph)], band)) continue;
        Widen(columns_ + (ph * p.group + bins.begin - band.slice.first_bin),
              roi.columns.data() + bins.begin, bins.size());
      }
    }
    std::fill_n(tiles_, (bins_ + side - 1) / side, kNothing);
    all_ = kNothing;
    for (int64_t b = 0; b < bins_; ++b) {
      begins_[b] = columns_[b].begin;
      ends_[b] = columns_[b].end;
      Widen(tiles_ + b / side, columns_ + b, 1);
      Widen(&all_, columns_ + b, 1);
    }
  }

  // Of all bins.
  Span columns() const { return all_; }

  // Works out where the bins of a pixel of the band go.
  HWY_INLINE void Place(const Band& band, int64_t row, int64_t column) {
    const int64_t pixel = (row - band.first_row) * band.row_stride + column * band.pixel_stride;
    ForEach<int64_t>(bins_, [&](auto d, int64_t b) HWY_ATTR {
      const auto w = hn::Set(d, column);
      const auto reached =
          hn::AndNot(hn::Lt(w, hn::LoadU(d, begins_ + b)), hn::Lt(w, hn::LoadU(d, ends_ + b)));
      const auto place = hn::Add(hn::Set(d, pixel), hn::LoadU(d, offsets_ + b));
      hn::StoreU(hn::IfThenElse(reached, place, hn::Set(d, nowhere_)), d, places_ + b);
    });
  }

  // In floats from the band's begin: of the bins from `bin` on, of the pixel that was placed.
  const int64_t* Places(int64_t bin) const { return places_ + bin; }

  bool Wants(int64_t tile, int64_t column) const {
    return tiles_[tile].begin <= column && column < tiles_[tile].end;
  }

 private:
  int64_t bins_, nowhere_;
  int64_t *places_, *begins_, *ends_, *offsets_;  // [bins of the slice]
  Span* columns_;                                 // [bins of the slice]
  Span* tiles_;                                   // [tiles of its bins]
  Span all_ = kNothing;
};

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_CPU_REACH_INL_H_
