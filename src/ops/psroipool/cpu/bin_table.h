// SPDX-License-Identifier: Apache-2.0
// The bins of all rois of a call: worked out once, because every roi is looked at again for each
// band of rows and for each bin.
#pragma once

#include <cstddef>
#include <span>

#include "ops/psroipool/cpu/band.h"

namespace mluop::psroipool {

struct RoiBins {
  int32_t image;
  std::span<const Span> rows;     // [G], within [0, H)
  std::span<const Span> columns;  // [G], within [0, W)
  int32_t width;                  // of the widest bin; 0 where one of them has no columns

  bool has_empty() const {
    if (width == 0) return true;
    for (const Span& row : rows) {
      if (row.size() == 0) return true;
    }
    return false;
  }
};

// Whether some of these rows of the roi is in the band.
inline bool Meets(const Problem& p, const RoiBins& roi, Span rows, const Band& band) {
  const int64_t image_row = int64_t{roi.image} * p.h;
  return image_row + rows.begin < band.last_row && image_row + rows.end > band.first_row;
}

// Whether some row of the roi is in the band.
inline bool Meets(const Problem& p, const RoiBins& roi, const Band& band) {
  return Meets(p, roi, {roi.rows.front().begin, roi.rows.back().end}, band);
}

// An empty roi has empty bins and image 0, so that nobody needs to ask.
class BinTable {
 public:
  static size_t Bytes(const Problem& p);  // a multiple of kAlignment

  BinTable(const Problem& p, void* memory);

  RoiBins operator[](int64_t roi) const {
    const Span* spans = spans_ + roi * 2 * group_;
    const auto group = static_cast<size_t>(group_);
    return {images_[roi], {spans, group}, {spans + group_, group}, widths_[roi]};
  }

  // Works out one roi. Returns the pixels in its bins, those of two bins counted twice.
  int64_t Fill(const Problem& p, const float* rois, int64_t roi);

 private:
  int64_t group_;
  Span* spans_;      // [R, 2, G]
  int32_t* images_;  // [R]
  int32_t* widths_;  // [R]
};

// Forward of some rois.
struct Pooling {
  const Problem& p;
  const BinTable& table;
  const float* input;
  float* output;
  int64_t first_roi, last_roi;
  bool sparse;  // what no roi reads is left out
};

}  // namespace mluop::psroipool
