// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU, implementation "double".
#include "cpu/plain_loops.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using DoublePlace = PlaceOf<double>;

// The rows and columns of one bin of a RoI on the map. The map must not be empty.
struct Bin {
  Span rows, columns;

  Bin(const Problem& p, const DoublePlace& place, int64_t bin)
      : rows(place.Rows(p, static_cast<int>(bin / p.pooled_w))),
        columns(place.Columns(p, static_cast<int>(bin % p.pooled_w))) {}

  double area() const { return static_cast<double>(rows.size()) * columns.size(); }
};

// Returns the mean of a bin in one plane, 0 if the bin is empty. Adds row by row.
double Mean(const Problem& p, const Bin& bin, const double* plane) {
  double sum = 0;
  for (int64_t y = bin.rows.begin; y < bin.rows.end; ++y) {
    for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x) sum += plane[y * p.w + x];
  }
  return bin.area() > 0 ? CanonicalNan(sum / bin.area()) : 0;
}

// Adds the gradients of RoI r to the planes [begin, end) of the map, counted through all images.
void ScatterRoi(const Problem& p, const GradientsOf<double>& t, int64_t r, int64_t begin,
                int64_t end) {
  const DoublePlace place = PlaceRoi(p, t.rois + r * 5);
  if (place.image < 0) return;
  const int64_t first = place.image * p.channels();
  const int64_t last = std::min(end, first + p.channels());
  const int64_t start = std::max(begin, first);
  // The planes of an image are channels, and bin b has the channels b, b + bins, ...
  for (int64_t b = 0; b < p.bins(); ++b) {
    const Bin bin(p, place, b);
    const int64_t skipped = std::max<int64_t>(start - first - b + p.bins() - 1, 0) / p.bins();
    for (int64_t i = first + b + skipped * p.bins(); i < last; i += p.bins()) {
      const double scaled_grad = t.grad_output[r * p.channels() + i - first] / bin.area();
      double* const plane = t.grad_input + i * p.pixels();
      for (int64_t y = bin.rows.begin; y < bin.rows.end; ++y) {
        for (int64_t x = bin.columns.begin; x < bin.columns.end; ++x)
          plane[y * p.w + x] += scaled_grad;
      }
    }
  }
}

}  // namespace

mluOpStatus_t RunDoubleForward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const TensorsOf<double> t(call.arguments);
  if (p.map_elements() == 0) {  // every bin is empty
    std::fill_n(t.output, p.rois * p.channels(), 0.0);
    return MLUOP_STATUS_SUCCESS;
  }
  // RoI by RoI for the planes of one bin: they stay in the cache, and a bin is located once.
  const auto pool = [&](int64_t b, int64_t begin, int64_t end) {
    for (int64_t r = 0; r < p.rois; ++r) {
      const DoublePlace place = PlaceRoi(p, t.rois + r * 5);
      const Bin bin(p, place, b);
      for (int64_t c = begin; c < end; ++c) {
        const double* plane = t.input + p.Plane(std::max<int64_t>(place.image, 0), c, b);
        t.output[r * p.channels() + c * p.bins() + b] = Mean(p, bin, plane);
      }
    }
  };
  call.context.threads().For(p.channels(), GrainFor(p.rois * p.pixels() / p.bins()),
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t i = begin; i < end;) {
                                 const int64_t b = i / p.output_dim, c = i % p.output_dim;
                                 const int64_t count = std::min(p.output_dim - c, end - i);
                                 pool(b, c, c + count);
                                 i += count;
                               }
                             });
  return MLUOP_STATUS_SUCCESS;
}

// A worker owns planes of the map and visits all RoIs in order.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  call.context.threads().For(p.n * p.channels(), GrainFor(p.pixels()),
                             [&](int64_t begin, int64_t end, int) {
                               double* const own = t.grad_input + begin * p.pixels();
                               const int64_t count = (end - begin) * p.pixels();
                               std::fill_n(own, count, 0.0);
                               for (int64_t r = 0; r < p.rois; ++r) ScatterRoi(p, t, r, begin, end);
                               CanonicalizeNans(own, count);
                             });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::torchvision_ps_roi_pool
