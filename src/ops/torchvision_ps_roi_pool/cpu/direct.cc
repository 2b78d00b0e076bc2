// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on the CPU without repacking: forward "direct", and "double" of both
// directions. Real is float or double.
#include "cpu/plain_loops.h"
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"
#include "ops/torchvision_ps_roi_pool/cpu/roi_table.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

// Planes of one bin that are read together: one chain of additions alone would wait for every
// addition.
constexpr int64_t kDirectPlanes = 8;

// Returns the pixels of one bin of a RoI. The map must not be empty.
template <typename Real>
BinBox BoxOf(const Problem& p, const PlaceOf<Real>& place, int64_t bin) {
  return {place.Rows(p, static_cast<int>(bin / p.pooled_w)),
          place.Columns(p, static_cast<int>(bin % p.pooled_w))};
}

// Writes the means of one bin in kCount planes to every bins-th output.
template <int64_t kCount, typename Real>
void PoolPlanes(const Problem& p, const Real* planes, const BinBox& box, Real* output) {
  const int64_t plane_stride = p.bins() * p.pixels();
  Real sums[kCount] = {};
  for (int64_t h = box.rows.begin; h < box.rows.end; ++h) {
    for (int64_t w = box.columns.begin; w < box.columns.end; ++w) {
      const Real* pixel = planes + h * p.w + w;
      for (int64_t k = 0; k < kCount; ++k) sums[k] += pixel[k * plane_stride];
    }
  }
  const auto area = static_cast<Real>(box.area());
  for (int64_t k = 0; k < kCount; ++k) {
    output[k * p.bins()] = area == 0 ? Real{0} : CanonicalNan(sums[k] / area);
  }
}

// Pools the channels [first, min(first + kDirectPlanes, output_dim)) of a RoI.
template <typename Real>
void PoolRoi(const Problem& p, const TensorsOf<Real>& t, int64_t r, int64_t first) {
  const int64_t planes = std::min(kDirectPlanes, p.output_dim - first);
  Real* const output = t.output + r * p.channels() + first * p.bins();
  const PlaceOf<Real> place =
      p.pixels() == 0 ? PlaceOf<Real>{-1, {}, {}} : PlaceRoi(p, t.rois + r * 5);
  if (place.image < 0) {
    std::fill_n(output, planes * p.bins(), Real{0});
    return;
  }
  for (int64_t bin = 0; bin < p.bins(); ++bin) {
    const BinBox box = BoxOf(p, place, bin);
    const Real* from = t.input + p.Plane(place.image, first, bin);
    if (planes == kDirectPlanes) {
      PoolPlanes<kDirectPlanes>(p, from, box, output + bin);
      continue;
    }
    for (int64_t c = 0; c < planes; ++c) {
      PoolPlanes<1>(p, from + c * p.bins() * p.pixels(), box, output + c * p.bins() + bin);
    }
  }
}

// Adds the gradients of RoI r to the planes [begin, end) of the map, counted through all images.
void ScatterRoi(const Problem& p, const GradientsOf<double>& t, int64_t r, int64_t begin,
                int64_t end) {
  const PlaceOf<double> place = PlaceRoi(p, t.rois + r * 5);
  if (place.image < 0) return;
  const int64_t first = place.image * p.channels();
  const int64_t last = std::min(end, first + p.channels());
  const int64_t start = std::max(begin, first);
  // The planes of an image are channels, and bin b has the channels b, b + bins, ...
  for (int64_t b = 0; b < p.bins(); ++b) {
    const auto [rows, columns] = BoxOf(p, place, b);
    const auto area = static_cast<double>(int64_t{rows.size()} * columns.size());
    const int64_t skipped = std::max<int64_t>(start - first - b + p.bins() - 1, 0) / p.bins();
    for (int64_t i = first + b + skipped * p.bins(); i < last; i += p.bins()) {
      const double scaled_grad = t.grad_output[r * p.channels() + i - first] / area;
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        double* const row = t.grad_input + i * p.pixels() + y * p.w;
        for (int64_t x = columns.begin; x < columns.end; ++x) row[x] += scaled_grad;
      }
    }
  }
}

}  // namespace

template <typename Real>
mluOpStatus_t RunDirect(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const TensorsOf<Real> t(call.arguments);
  const int64_t blocks = (p.output_dim + kDirectPlanes - 1) / kDirectPlanes;
  const int64_t work = (p.bins() + p.pixels() / 4) * std::min(p.output_dim, kDirectPlanes);
  call.context.threads().ForEach(p.rois * blocks, GrainFor(work), [&](int64_t i, int) {
    PoolRoi(p, t, i / blocks, i % blocks * kDirectPlanes);
  });
  return MLUOP_STATUS_SUCCESS;
}

template mluOpStatus_t RunDirect<float>(const CpuCall<Problem>&, void*);
template mluOpStatus_t RunDirect<double>(const CpuCall<Problem>&, void*);

// A worker owns planes of the map and visits all RoIs in order.
mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  const auto sum_planes = [&](int64_t begin, int64_t end, int) {
    double* const own = t.grad_input + begin * p.pixels();
    const int64_t count = (end - begin) * p.pixels();
    std::fill_n(own, count, 0.0);
    for (int64_t r = 0; r < p.rois; ++r) ScatterRoi(p, t, r, begin, end);
    CanonicalizeNans(own, count);
  };
  call.context.threads().For(p.n * p.channels(), GrainFor(p.pixels()), sum_planes);
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::torchvision_ps_roi_pool
