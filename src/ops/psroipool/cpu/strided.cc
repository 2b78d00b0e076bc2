// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU without repacking: forward "strided", backward "scatter", and "double" of
// both. Real is float or double.
#include <algorithm>
#include <functional>

#include "cpu/plain_loops.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/tuning.h"

namespace mluop::psroipool {
namespace {

// Channels read together: eight independent sums hide the latency of the additions.
constexpr int64_t kStridedChannels = 8;

template <typename Real, size_t kCount>
struct Sums {
  Real values[kCount];

  explicit Sums(Real value) { std::fill_n(values, kCount, value); }
  void Add(const Real* addends, int64_t stride) {
    for (size_t k = 0; k < kCount; ++k) values[k] += addends[static_cast<int64_t>(k) * stride];
  }
  void Add(const Sums& sums) { Add(sums.values, 1); }
};

// Returns the sum of one row of a bin. `row` is the row's column 0 in the first channel.
template <size_t kCount, typename Real>
Sums<Real, kCount> SumStridedRow(const Problem& p, const Real* row, Span columns) {
  Sums<Real, kCount> sum(-0.0f);
  for (int64_t first = columns.begin; first < columns.end; first += kChunkColumns) {
    Sums<Real, kCount> chunk(-0.0f);
    const int64_t end = std::min<int64_t>(first + kChunkColumns, columns.end);
    for (int64_t w = first; w < end; ++w) chunk.Add(row + w * p.channels(), p.bins());
    sum.Add(chunk);
  }
  return sum;
}

// Writes the means of kCount channels of one bin, in the order of tuning.h.
template <size_t kCount, typename Real>
void PoolStridedBin(const Problem& p, const Real* channel, Span rows, Span columns, Real* output) {
  Sums<Real, kCount> total(0.0f);
  for (int64_t first = rows.begin; first < rows.end; first += kPartialRows) {
    Sums<Real, kCount> partial(-0.0f);
    const int64_t end = std::min<int64_t>(first + kPartialRows, rows.end);
    for (int64_t h = first; h < end; ++h) {
      partial.Add(SumStridedRow<kCount>(p, channel + h * p.w * p.channels(), columns));
    }
    total.Add(partial);
  }
  const auto area = static_cast<Real>(int64_t{rows.size()} * columns.size());
  for (size_t k = 0; k < kCount; ++k) output[k] = CanonicalNan(total.values[k] / area);
}

template <typename Real>
void PoolStridedRoi(const Problem& p, const TensorsOf<Real>& t, int64_t r) {
  const PlaceOf<Real> place = PlaceRoi(p, t.rois + r * 5);
  const Real* image = t.input + std::max<int64_t>(place.image, 0) * p.h * p.w * p.channels();
  Real* output = t.output + r * p.channels();
  int32_t* mapping = t.mapping + r * p.channels();
  for (int64_t bin = 0; bin < p.bins(); ++bin, output += p.output_dim) {
    const Span rows = place.Rows(p, static_cast<int>(bin / p.group));
    const Span columns = place.Columns(p, static_cast<int>(bin % p.group));
    for (int64_t c = 0; c < p.output_dim; ++c) *mapping++ = static_cast<int32_t>(p.Channel(bin, c));
    if (rows.size() == 0 || columns.size() == 0) {
      std::fill_n(output, p.output_dim, Real{0});
      continue;
    }
    int64_t c = 0;
    for (; c + kStridedChannels <= p.output_dim; c += kStridedChannels) {
      PoolStridedBin<kStridedChannels>(p, image + p.Channel(bin, c), rows, columns, output + c);
    }
    for (; c < p.output_dim; ++c) {
      PoolStridedBin<1>(p, image + p.Channel(bin, c), rows, columns, output + c);
    }
  }
}

// Adds one bin to one row of the map, `sums`: [W, C].
template <typename Real>
void ScatterBin(const Problem& p, const GradientsOf<Real>& t, int64_t first_element, int64_t rows,
                Span columns, Real* sums) {
  const auto area = static_cast<Real>(rows * columns.size());
  for (int64_t i = first_element; i < first_element + p.output_dim; ++i) {
    const int64_t channel = t.mapping[i];
    if (channel < 0 || channel >= p.channels()) continue;
    const Real scaled_grad = t.top_grad[i] / area;
    for (int64_t w = columns.begin; w < columns.end; ++w)
      sums[w * p.channels() + channel] += scaled_grad;
  }
}

// Adds the RoIs [begin, end) to one row of the map. Elements of a RoI that go to one channel are added
// in the order of memory.
template <typename Real>
void ScatterRow(const Problem& p, const GradientsOf<Real>& t, const BinTable& table, int64_t row,
                int64_t begin, int64_t end, Real* sums) {
  for (int64_t r = begin; r < end; ++r) {
    const RoiBins roi = table[r];
    const int64_t h = row - roi.first_row;
    for (int64_t ph = 0; ph < p.group; ++ph) {
      const Span rows = roi.rows[static_cast<size_t>(ph)];
      if (h < rows.begin || h >= rows.end) continue;
      for (int64_t pw = 0; pw < p.group; ++pw) {
        const int64_t element = ((r * p.group + ph) * p.group + pw) * p.output_dim;
        ScatterBin(p, t, element, rows.size(), roi.columns[static_cast<size_t>(pw)], sums);
      }
    }
  }
}

// Returns the scratch: the table, and the partial sum of a row of the map per worker.
template <typename Real>
TableScratch<Real> ScatterScratch(const CpuCall<Problem>& call, void* memory) {
  const Problem& p = call.p;
  return {p, call.context.threads().num_threads() * p.w * p.channels(), memory};
}

}  // namespace

template <typename Real>
mluOpStatus_t RunStrided(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const TensorsOf<Real> t(call.arguments);
  // Estimates that a RoI covers a quarter of the map.
  const int64_t work = p.channels() + int64_t{p.h} * p.w * p.output_dim / 4;
  call.context.threads().ForEach(p.rois, GrainFor(work),
                                 [&](int64_t r, int) { PoolStridedRoi(p, t, r); });
  return MLUOP_STATUS_SUCCESS;
}

template <typename Real>
size_t ScatterBytes(const CpuCall<Problem>& call) {
  return ScatterScratch<Real>(call, nullptr).arrays.bytes();
}

template <typename Real>
mluOpStatus_t RunScatter(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const GradientsOf<Real> t(call.arguments);
  ThreadPool& threads = call.context.threads();
  auto own = ScatterScratch<Real>(call, scratch);
  own.table.FillAll(p, t.rois, threads);
  const int64_t elements = p.w * p.channels();
  const int64_t work = elements + p.rois * p.channels() / p.rows();
  threads.ForEach(p.rows(), GrainFor(work), [&](int64_t row, int worker) {
    Real* const partial = own.elements + worker * elements;
    Real* const total = t.bottom_grad + row * elements;
    std::fill_n(total, elements, Real{0});
    if (p.rois <= kPartialRois) ScatterRow(p, t, own.table, row, 0, p.rois, total);
    for (int64_t r = 0; r < p.rois && p.rois > kPartialRois; r += kPartialRois) {
      std::fill_n(partial, elements, Real{0});
      ScatterRow(p, t, own.table, row, r, std::min(r + kPartialRois, p.rois), partial);
      std::transform(partial, partial + elements, total, total, std::plus<Real>());
    }
    CanonicalizeNans(total, elements);
  });
  return MLUOP_STATUS_SUCCESS;
}

template mluOpStatus_t RunStrided<float>(const CpuCall<Problem>&, void*);
template mluOpStatus_t RunStrided<double>(const CpuCall<Problem>&, void*);
template size_t ScatterBytes<float>(const CpuCall<Problem>&);
template size_t ScatterBytes<double>(const CpuCall<Problem>&);
template mluOpStatus_t RunScatter<float>(const CpuCall<Problem>&, void*);
template mluOpStatus_t RunScatter<double>(const CpuCall<Problem>&, void*);

}  // namespace mluop::psroipool
