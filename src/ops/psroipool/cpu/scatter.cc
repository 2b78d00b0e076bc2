// SPDX-License-Identifier: Apache-2.0
#include "ops/psroipool/cpu/scatter.h"
#include "cpu/tuning.h"

#include <algorithm>
#include <functional>

namespace mluop::psroipool {
namespace {

// One bin in one row of the map, `sums`: [W, C].
void ScatterBin(const Problem& p, const Gradients& t, int64_t first_element, int64_t rows,
                Span columns, float* sums) {
  const auto area = static_cast<float>(rows * columns.size());
  for (int64_t i = first_element; i < first_element + p.output_dim; ++i) {
    const int64_t channel = t.mapping[i];
    if (channel < 0 || channel >= p.channels()) continue;
    const float share = t.top_grad[i] / area;
    for (int64_t w = columns.begin; w < columns.end; ++w) sums[w * p.channels() + channel] += share;
  }
}

// The rois [begin, end) in one row of the map. Several elements of a roi may go to one channel:
// they are added in the order of memory.
void ScatterRow(const Problem& p, const Gradients& t, const BinTable& table, int64_t row,
                int64_t begin, int64_t end, float* sums) {
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    const int64_t h = row - int64_t{roi.image} * p.h;
    if (h < roi.rows.front().begin || h >= roi.rows.back().end) continue;
    for (int64_t ph = 0; ph < p.group; ++ph) {
      const Span rows = roi.rows[ph];
      if (h < rows.begin || h >= rows.end) continue;
      for (int64_t pw = 0; pw < p.group; ++pw) {
        const int64_t element = ((r * p.group + ph) * p.group + pw) * p.output_dim;
        ScatterBin(p, t, element, rows.size(), roi.columns[pw], sums);
      }
    }
  }
}

}  // namespace

void Scatter(const Problem& p, const Gradients& t, const BinTable& table, float* memory,
             ThreadPool& threads) {
  const int64_t floats = p.w * p.channels();
  const int64_t work = floats + p.rois * p.channels() / p.rows();
  threads.For(p.rows(), kGrain / work + 1, [&](int64_t begin, int64_t end, int worker) {
    float* const part = memory + worker * floats;
    for (int64_t row = begin; row < end; ++row) {
      float* const total = t.bottom_grad + row * floats;
      std::fill_n(total, floats, 0.0f);
      if (p.rois <= kRoisOfPart) ScatterRow(p, t, table, row, 0, p.rois, total);
      for (int64_t r = 0; r < p.rois && p.rois > kRoisOfPart; r += kRoisOfPart) {
        std::fill_n(part, floats, 0.0f);
        ScatterRow(p, t, table, row, r, std::min(r + kRoisOfPart, p.rois), part);
        std::transform(part, part + floats, total, total, std::plus<float>());
      }
    }
  });
}

}  // namespace mluop::psroipool
