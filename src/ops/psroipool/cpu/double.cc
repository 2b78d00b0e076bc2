// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU, implementation "double".
#include "cpu/double.h"
#include "ops/psroipool/cpu/operators.h"

namespace mluop::psroipool {
namespace {

using DoublePlace = PlaceOf<double>;

// The rows and columns of one bin of a RoI.
struct Bin {
  Span rows, columns;

  Bin(const Problem& p, const DoublePlace& place, int64_t bin)
      : rows(place.Rows(p, static_cast<int>(bin / p.group))),
        columns(place.Columns(p, static_cast<int>(bin % p.group))) {}

  double area() const { return static_cast<double>(rows.size()) * columns.size(); }
};

// Adds the pixels in the output itself, so that the channels of a pixel are read in order.
void PoolBin(const Problem& p, const TensorsOf<double>& t, const DoublePlace& place, int64_t item) {
  const int64_t index = item % p.bins();
  const Bin bin(p, place, index);
  double* const output = t.output + item * p.output_dim;
  std::fill_n(output, p.output_dim, 0.0);
  for (int64_t y = bin.rows.begin; y < bin.rows.end; ++y) {
    for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x) {
      const double* pixel = t.input + ((place.image * p.h + y) * p.w + x) * p.channels() + index;
      for (int64_t c = 0; c < p.output_dim; ++c) output[c] += pixel[c * p.bins()];
    }
  }
  const double area = std::max(bin.area(), 1.0);
  for (int64_t c = 0; c < p.output_dim; ++c) {
    output[c] = CanonicalNan(output[c] / area);
    t.mapping[item * p.output_dim + c] = static_cast<int32_t>(p.Channel(index, c));
  }
}

// Adds the gradients of one bin to the map's rows in `own`, counted through all images.
void ScatterBin(const Problem& p, const GradientsOf<double>& t, const DoublePlace& place,
                int64_t item, const Span& own) {
  const Bin bin(p, place, item % p.bins());
  const auto first = static_cast<int32_t>(place.image * p.h);
  const int64_t begin = std::max(bin.rows.begin + first, own.begin);
  const int64_t end = std::min(bin.rows.end + first, own.end);
  if (begin >= end || bin.columns.size() <= 0) return;
  for (int64_t c = 0; c < p.output_dim; ++c) {
    const int64_t channel = t.mapping[item * p.output_dim + c];
    if (channel < 0 || channel >= p.channels()) continue;
    const double scaled_grad = t.top_grad[item * p.output_dim + c] / bin.area();
    for (int64_t y = begin; y < end; ++y) {
      for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x) {
        t.bottom_grad[(y * p.w + x) * p.channels() + channel] += scaled_grad;
      }
    }
  }
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const TensorsOf<double> t(call.arguments);
  const int64_t pixels = int64_t{p.h} * p.w / p.bins() + 1;  // of a bin, estimated
  call.context.threads().For(p.rois * p.bins(), GrainFor(pixels * p.output_dim),
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t item = begin; item < end; ++item) {
                                 PoolBin(p, t, PlaceRoi(p, t.rois + item / p.bins() * 5), item);
                               }
                             });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns rows of the map and visits all RoIs in order.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  const int64_t row = p.w * p.channels();
  call.context.threads().For(p.rows(), GrainFor(row), [&](int64_t begin, int64_t end, int) {
    const Span own = {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
    std::fill_n(t.bottom_grad + begin * row, (end - begin) * row, 0.0);
    for (int64_t r = 0; r < p.rois; ++r) {
      const DoublePlace place = PlaceRoi(p, t.rois + r * 5);
      if (place.image < 0) continue;
      for (int64_t bin = 0; bin < p.bins(); ++bin) {
        ScatterBin(p, t, place, r * p.bins() + bin, own);
      }
    }
    CanonicalizeNans(t.bottom_grad + begin * row, (end - begin) * row);
  });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psroipool
