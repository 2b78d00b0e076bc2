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

// Writes kDirectPlanes planes of one bin of an image, from channel `first` on: the gradients of all
// RoIs, added in ascending order.
void SumPlanes(const Problem& p, const GradientsOf<double>& t, int64_t image, int64_t bin,
               int64_t first) {
  const int64_t end = std::min(first + kDirectPlanes, p.output_dim);
  const auto plane = [&](int64_t c) { return t.grad_input + p.Plane(image, c, bin); };
  for (int64_t c = first; c < end; ++c) std::fill_n(plane(c), p.pixels(), 0.0);
  for (int64_t r = 0; r < p.rois; ++r) {
    const PlaceOf<double> place = PlaceRoi(p, t.rois + r * 5);
    if (place.image != image) continue;
    const BinBox box = BoxOf(p, place, bin);
    const auto area = static_cast<double>(box.area());
    for (int64_t c = first; c < end; ++c) {
      const double scaled_grad = t.grad_output[r * p.channels() + c * p.bins() + bin] / area;
      for (int64_t y = box.rows.begin; y < box.rows.end; ++y) {
        double* const row = plane(c) + y * p.w;
        for (int64_t x = box.columns.begin; x < box.columns.end; ++x) row[x] += scaled_grad;
      }
    }
  }
  for (int64_t c = first; c < end; ++c) CanonicalizeNans(plane(c), p.pixels());
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

mluOpStatus_t RunDoubleBackward(const CpuCall<Problem>& call, void*) {
  const Problem& p = call.p;
  const GradientsOf<double> t(call.arguments);
  const int64_t blocks = (p.output_dim + kDirectPlanes - 1) / kDirectPlanes;
  const int64_t grain = GrainFor(p.pixels() * kDirectPlanes);
  call.context.threads().ForEach(p.n * p.bins() * blocks, grain, [&](int64_t i, int) {
    SumPlanes(p, t, i / blocks / p.bins(), i / blocks % p.bins(), i % blocks * kDirectPlanes);
  });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::torchvision_ps_roi_pool
