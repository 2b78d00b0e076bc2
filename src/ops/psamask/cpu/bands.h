// SPDX-License-Identifier: Apache-2.0
// Bands of pixels of a cell-major output. A row of the output holds one cell of all pixels, H*W
// floats, and starts anywhere in a cache line. A band writes the lines that start in it, so its last
// line extends into the next band.
#pragma once

#include <algorithm>

#include "ops/psamask/cpu/kernels.h"
#include "ops/psamask/cpu/tuning.h"

namespace mluop::psamask {

// A band's share of the output: rows of the grids for some pixels of one image.
struct Band {
  int64_t image;
  Range pixels, rows;
};

// The pixels that the band writes in the row at `to`: its lines, and the ends of the row.
inline Range LinesOf(const float* to, Range band, int64_t pixels) {
  const auto align = [&](int64_t pixel) {
    const auto at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to + pixel) / sizeof(float));
    return std::min(pixel + (kLine - at % kLine) % kLine, pixels);
  };
  return {band.begin == 0 ? 0 : align(band.begin), align(band.end)};
}

// Calls body(band, worker). A worker gets many rows of the same pixels.
template <class Body>
void ForEachBand(const Problem& p, ThreadPool& threads, const Body& body) {
  const int64_t bands = (p.pixels() + kBandPixels - 1) / kBandPixels;
  const int64_t work = std::min(kBandPixels, p.pixels()) * p.out.cols;
  const auto run = [&](int64_t begin, int64_t end, int worker) {
    while (begin < end) {
      const int64_t band = begin / p.out.rows, row = begin % p.out.rows;
      const int64_t rows = std::min(p.out.rows - row, end - begin);
      const int64_t first = band % bands * kBandPixels;
      body(
          Band{band / bands, {first, std::min(first + kBandPixels, p.pixels())}, {row, row + rows}},
          worker);
      begin += rows;
    }
  };
  threads.For(p.n * bands * p.out.rows, kGrain / work + 1, run);
}

}  // namespace mluop::psamask
