// SPDX-License-Identifier: Apache-2.0
// Position-sensitive pooling on the CPU without repacking. Real is float or double; `kSum` is kChain or
// kNested.
#pragma once

#include <algorithm>
#include <numeric>

#include "cpu/context.h"
#include "cpu/plain_loops.h"
#include "ops/roi/cpu/roi_table.h"

namespace mluop::roi {

// Channels of a bin that are read together: one chain of additions alone would wait for every
// addition.
inline constexpr int64_t kDirectChannels = 8;

template <typename Real, int64_t kCount>
struct DirectSums {
  Real values[kCount];

  explicit DirectSums(Real value) { std::fill_n(values, kCount, value); }
  void Add(const Real* addends, int64_t stride) {
    for (int64_t k = 0; k < kCount; ++k) values[k] += addends[k * stride];
  }
  void Add(const DirectSums& sums) { Add(sums.values, 1); }
};

// The strides of a map; `data` is pixel 0 of a bin's first channel.
template <typename Real>
struct BinMap {
  const Real* data;
  int64_t row, pixel, channel;
};

// Adds the pixels of a row one by one.
template <typename Real, int64_t kCount>
void AddRow(const BinMap<Real>& map, int64_t h, Span columns, DirectSums<Real, kCount>* sums) {
  const Real* pixel = map.data + h * map.row + columns.begin * map.pixel;
  for (int64_t w = columns.begin; w < columns.end; ++w, pixel += map.pixel) {
    sums->Add(pixel, map.channel);
  }
}

// Returns the sums of a bin in the order of Sum::kNested.
template <int64_t kCount, typename Real>
DirectSums<Real, kCount> SumNested(const BinMap<Real>& map, const BinBox& box) {
  using Sums = DirectSums<Real, kCount>;
  Sums total(0.0f), partial(-0.0f);
  for (int32_t h = box.rows.begin; h < box.rows.end; ++h) {
    Sums row(-0.0f);
    for (int32_t first = box.columns.begin, end; first < box.columns.end; first = end) {
      end = static_cast<int32_t>(std::min<int64_t>(first + kChunkColumns, box.columns.end));
      Sums chunk(-0.0f);
      AddRow(map, h, {first, end}, &chunk);
      row.Add(chunk);
    }
    partial.Add(row);
    if ((h + 1 - box.rows.begin) % kPartialRows != 0) continue;
    total.Add(partial);
    partial = Sums(-0.0f);
  }
  total.Add(partial);
  return total;
}

// Writes the means of kCount channels of one bin to every output_stride-th output.
template <Sum kSum, int64_t kCount, typename Real>
void PoolChannels(const BinMap<Real>& map, const BinBox& box, Real* output, int64_t output_stride) {
  DirectSums<Real, kCount> sums(0.0f);
  if constexpr (kSum == Sum::kNested) {
    sums = SumNested<kCount>(map, box);
  } else {
    for (int32_t h = box.rows.begin; h < box.rows.end; ++h) AddRow(map, h, box.columns, &sums);
  }
  const auto area = static_cast<Real>(box.area());
  for (int64_t k = 0; k < kCount; ++k) {
    output[k * output_stride] = area == 0 ? Real{0} : CanonicalNan(sums.values[k] / area);
  }
}

// As PoolChannels, for any number of channels.
template <Sum kSum, typename Real>
void PoolBin(const BinMap<Real>& map, const BinBox& box, int64_t channels, Real* output,
             int64_t output_stride) {
  const auto pool = [&](auto count, int64_t c) {
    const BinMap<Real> own = {map.data + c * map.channel, map.row, map.pixel, map.channel};
    PoolChannels<kSum, count>(own, box, output + c * output_stride, output_stride);
  };
  int64_t c = 0;
  for (; c + kDirectChannels <= channels; c += kDirectChannels) {
    pool(std::integral_constant<int64_t, kDirectChannels>(), c);
  }
  for (; c < channels; ++c) pool(std::integral_constant<int64_t, 1>(), c);
}

// ---- NCHW ----

// Pools the channels [first, last) of a RoI; the map must not be empty.
template <Sum kSum, typename Real, class Place, class Problem>
void PoolDirectRoi(const Problem& problem, const Place& place, const Real* input, int64_t first,
                   int64_t last, Real* output) {
  const Planes p = problem;
  if (place.image < 0) {
    std::fill(output + first * p.bins(), output + last * p.bins(), Real{0});
    return;
  }
  for (int64_t bin = 0; bin < p.bins(); ++bin) {
    const BinBox box = {place.Rows(problem, static_cast<int>(bin / p.pooled_w)),
                        place.Columns(problem, static_cast<int>(bin % p.pooled_w))};
    const BinMap<Real> map = {input + p.Plane(place.image, first, bin), p.w, 1,
                              p.bins() * p.pixels()};
    PoolBin<kSum>(map, box, last - first, output + first * p.bins() + bin, p.bins());
  }
}

// The implementation "direct". Writes output, and `mapping` as PoolBands() does.
template <Sum kSum, typename Real, class Problem>
void PoolDirect(const CpuCall<Problem>& call, Real* output, int32_t* mapping) {
  const Planes p = call.p;
  const Real* input = call.arguments.template In<Real>("input");
  const Real* rois = call.arguments.template In<Real>("rois");
  const int64_t blocks = (p.output_dim + kDirectChannels - 1) / kDirectChannels;
  // Estimates that a RoI covers a quarter of the map.
  const int64_t work = (p.bins() + p.pixels() / 4) * std::min(p.output_dim, kDirectChannels);
  call.context.threads().ForEach(p.rois * blocks, GrainFor(work), [&](int64_t i, int) {
    const int64_t r = i / blocks, first = i % blocks * kDirectChannels;
    const int64_t last = std::min(first + kDirectChannels, p.output_dim);
    if (mapping != nullptr) {
      std::iota(mapping + r * p.channels() + first * p.bins(),
                mapping + r * p.channels() + last * p.bins(), first * p.bins());
    }
    auto place = PlaceRoi(call.p, rois + r * 5);
    if (p.pixels() == 0) place.image = -1;
    PoolDirectRoi<kSum>(call.p, place, input, first, last, output + r * p.channels());
  });
}

}  // namespace mluop::roi
