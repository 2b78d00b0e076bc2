// SPDX-License-Identifier: Apache-2.0
// Bit masks of the RoIs whose bins cover a map row or a group of columns, on CUDA devices. Every
// row of the map has a bit mask of RoIs for every row of bins; every group of kColumns columns has
// one for every column of bins. The RoIs of a pixel are the bits that its row and its group share,
// in ascending order. There are no lists, and one load of a warp covers 1024 RoIs.
#pragma once

#include "core/host_device.h"
#include "cuda/context.h"
#include "ops/roi/span.h"

namespace mluop::roi {

struct RoiMasks {
  static constexpr int kRoisOfWord = 32;
  static constexpr int kColumns = 4;

  int64_t rois;
  int64_t rows, columns;      // rows of the map, groups of kColumns of its columns
  int row_bins, column_bins;  // rows and columns of bins
  int words;                  // of a mask
  uint32_t* data;             // [rows, row_bins, words], [columns, column_bins, words]

  template <class Problem>
  static RoiMasks Of(const Problem& p, void* data) {
    const auto words = static_cast<int>(CeilDiv(p.rois, kRoisOfWord));
    return {p.rois, int64_t{p.n} * p.h,          CeilDiv(p.w, kColumns), p.bins_h(), p.bins_w(),
            words,  static_cast<uint32_t*>(data)};
  }

  size_t Bytes() const {
    const int64_t lines = rows * row_bins + columns * column_bins;
    return AlignedBytes(static_cast<size_t>(lines * words) * sizeof(uint32_t));
  }

  // An item is one word of each of 32 rows or column groups, written by one warp.
  MLUOP_HOST_DEVICE int64_t RowItems() const { return (rows + 31) / 32 * row_bins * words; }
  MLUOP_HOST_DEVICE int64_t Items() const {
    return RowItems() + (columns + 31) / 32 * column_bins * words;
  }

#if defined(__CUDACC__)
  __device__ uint32_t* Row(int64_t row, int bin) const {
    return data + (row * row_bins + bin) * words;
  }
  __device__ uint32_t* Column(int64_t column, int bin) const {
    return data + (rows * row_bins + column * column_bins + bin) * words;
  }

  // A warp writes an item. place_of(r) returns the RoiPlace of a RoI.
  template <typename Problem, typename PlaceOf>
  __device__ void Write(const Problem& p, int64_t item, PlaceOf place_of) const {
    const bool is_row = item < RowItems();
    if (!is_row) item -= RowItems();
    const int bins = is_row ? row_bins : column_bins;
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const auto word = static_cast<int>(item % words);
    const auto bin = static_cast<int>(item / words % bins);
    const int64_t first = item / words / bins * 32;
    const int64_t r = int64_t{word} * kRoisOfWord + lane;
    int begin = 0, end = 0;  // from `first` on
    if (r < rois) {
      const auto place = place_of(r);
      Span span = is_row ? place.MapRows(p, bin) : place.Columns(p, bin);
      if (!is_row) span = {span.begin / kColumns, (span.end + kColumns - 1) / kColumns};
      begin = static_cast<int>(span.begin - first);
      end = static_cast<int>(span.end - first);
    }
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const unsigned ballot = __ballot_sync(0xffffffffu, i >= begin && i < end);
      if (lane == i) mask = ballot;
    }
    if (first + lane >= (is_row ? rows : columns)) return;
    uint32_t* line = is_row ? Row(first + lane, bin) : Column(first + lane, bin);
    line[word] = mask;
  }
#endif
};

#if defined(__CUDACC__)

// The RoIs that the masks of a row and of a column share, of at most 32 words. A warp iterates over
// them together.
class RoiHits {
 public:
  __device__ RoiHits(const uint32_t* row, const uint32_t* column, int first, int words)
      : first_(first) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    mask_ = lane < words ? row[first + lane] & column[first + lane] : 0;
    words_ = __ballot_sync(0xffffffffu, mask_ != 0);
  }
  // Returns the next RoI, -1 after the last one.
  __device__ int Next() {
    if (bits_ == 0) {
      if (words_ == 0) return -1;
      word_ = __ffs(static_cast<int>(words_)) - 1;
      words_ &= words_ - 1;
      bits_ = __shfl_sync(0xffffffffu, mask_, word_);
    }
    const int bit = __ffs(static_cast<int>(bits_)) - 1;
    bits_ &= bits_ - 1;
    return (first_ + word_) * RoiMasks::kRoisOfWord + bit;
  }

 private:
  int first_, word_ = 0;
  uint32_t mask_;
  unsigned words_, bits_ = 0;
};

// Calls add(loaded) for every hit in ascending order. start(r, &loaded) issues the loads of a RoI.
// The loads of kInFlight hits are in flight at a time.
template <int kInFlight, typename Loaded, typename Start, typename Add>
__device__ void ForEachHit(RoiHits hits, Start start, Add add) {
  Loaded ring[kInFlight];
  bool valid[kInFlight];
  const auto start_next = [&](int i) {
    const int r = hits.Next();
    valid[i] = r >= 0;
    if (valid[i]) start(r, &ring[i]);
  };
#pragma unroll
  for (int i = 0; i < kInFlight; ++i) start_next(i);
  while (true) {
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (!valid[i]) return;
      add(ring[i]);
      start_next(i);
    }
  }
}

#endif  // __CUDACC__

}  // namespace mluop::roi
