// SPDX-License-Identifier: Apache-2.0
// Repacked maps: padded size of a pixel's channels, and the test whether repacking is faster.
#pragma once

#include <cstdint>

namespace mluop::roi {

// Returns the floats filled up to whole vectors of at most 64 bytes. No load crosses a cache line,
// and no store overlaps the next row, which would stall the following load (store forwarding).
constexpr int64_t WholeVectors(int64_t floats) {
  return floats <= 4 ? 4 : floats <= 8 ? 8 : (floats + 15) / 16 * 16;
}

// Returns whether the bins of all RoIs together have at least `wanted` pixels; a pixel of two bins
// counts twice. Stops at the RoI that decides it. rois: [R, 5]
template <class Problem>
bool BinsHavePixels(const Problem& p, const float* rois, int64_t wanted) {
  for (int64_t r = 0; r < p.rois && wanted > 0; ++r) {
    const auto place = PlaceRoi(p, rois + r * 5);  // the family's
    int64_t height = 0, width = 0;
    for (int ph = 0; ph < p.bins_h(); ++ph) height += place.Rows(p, ph).size();
    for (int pw = 0; pw < p.bins_w(); ++pw) width += place.Columns(p, pw).size();
    wanted -= height * width;
  }
  return wanted <= 0;
}

}  // namespace mluop::roi
