// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU without repacking: forward "strided", backward "scatter", and "double" of
// both. Real is float or double.
#include <algorithm>
#include <functional>

#include "cpu/plain_loops.h"
#include "ops/psroipool/cpu/bin_table.h"
#include "ops/psroipool/cpu/operators.h"
#include "ops/psroipool/cpu/tuning.h"
#include "ops/roi/cpu/direct.h"

namespace mluop::psroipool {
namespace {

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
    const roi::BinMap<Real> map = {image + bin, p.w * p.channels(), p.channels(), p.bins()};
    roi::PoolBin<roi::Sum::kNested>(map, {rows, columns}, p.output_dim, output, 1);
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
