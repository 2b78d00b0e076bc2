// SPDX-License-Identifier: Apache-2.0
// psroipool: the sizes of a call and the geometry of a RoI, for all devices and both directions.
// Coordinates are float arithmetic without fused multiply-add in the order of the contract, so that
// every device chooses the same bins. Real is float, or double in calls of that type.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/planes.h"
#include "ops/roi/span.h"

namespace mluop::psroipool {

using roi::Span;

struct Problem {
  int n, h, w;
  int64_t rois;
  int group;  // group_size = pooled_height = pooled_width
  int output_dim;
  float scale;

  // Of all images, one after the other.
  MLUOP_HOST_DEVICE int64_t rows() const { return int64_t{n} * h; }
  MLUOP_HOST_DEVICE int bins_h() const { return group; }
  MLUOP_HOST_DEVICE int bins_w() const { return group; }
  MLUOP_HOST_DEVICE int64_t bins() const { return int64_t{group} * group; }
  MLUOP_HOST_DEVICE int64_t channels() const { return bins() * output_dim; }
  MLUOP_HOST_DEVICE int64_t map_elements() const { return rows() * w * channels(); }

  // NOLINTNEXTLINE(google-explicit-constructor): converts as if it were derived
  operator roi::Planes() const { return {n, h, w, rois, output_dim, group, group}; }

  // Channel c of bin = ph*G+pw is channel (c*G+ph)*G+pw of the map.
  MLUOP_HOST_DEVICE int64_t Channel(int64_t bin, int64_t c) const { return c * bins() + bin; }
};

// The workspace getter has no scale; its result does not depend on it.
inline Problem MakeProblemWithScale(const Arguments& a, float scale) {
  return {static_cast<int>(a.Symbol("N")),
          static_cast<int>(a.Symbol("H")),
          static_cast<int>(a.Symbol("W")),
          a.Symbol("R"),
          a.Int("pooled_height"),
          a.Int("output_dim"),
          scale};
}
inline Problem MakeProblem(const Arguments& a) {
  return MakeProblemWithScale(a, a.Float("spatial_scale"));
}

template <typename T>
struct TensorsOf {
  const T* input;    // [N, H, W, C]
  const T* rois;     // [R, 5]
  T* output;         // [R, G, G, output_dim]
  int32_t* mapping;  // as output

  explicit TensorsOf(const Arguments& a)
      : input(a.In<T>("input")),
        rois(a.In<T>("rois")),
        output(a.Out<T>("output")),
        mapping(a.Out<int32_t>("mapping_channel")) {}
};
using Tensors = TensorsOf<float>;

template <typename T>
struct GradientsOf {
  const T* top_grad;       // [R, G, G, output_dim]
  const T* rois;           // [R, 5]
  const int32_t* mapping;  // as top_grad
  T* bottom_grad;          // [N, H, W, C]

  explicit GradientsOf(const Arguments& a)
      : top_grad(a.In<T>("top_grad")),
        rois(a.In<T>("rois")),
        mapping(a.In<int32_t>("mapping_channel")),
        bottom_grad(a.Out<T>("bottom_grad")) {}
};
using Gradients = GradientsOf<float>;

// Clamps x to [0, 2^31]; NaN becomes 0. Branch-free: the outcome is unpredictable.
template <typename Real>
MLUOP_HOST_DEVICE Real Clamped(Real x) {
  const Real positive = x > Real{0} ? x : Real{0};
  return positive < Real{0x1p31f} ? positive : Real{0x1p31f};
}
// clamp(floor(x), 0, size) and clamp(ceil(x), 0, size). The upper clamp compares integers: float
// cannot represent every size above 2^24.
template <typename Real>
MLUOP_HOST_DEVICE int32_t ClampedFloor(Real x, int size) {
  const auto whole = static_cast<uint32_t>(Clamped(x)), most = static_cast<uint32_t>(size);
  return static_cast<int32_t>(whole < most ? whole : most);
}
template <typename Real>
MLUOP_HOST_DEVICE int32_t ClampedCeil(Real x, int size) {
  const Real inside = Clamped(x);
  const auto whole = static_cast<uint32_t>(inside), most = static_cast<uint32_t>(size);
  const uint32_t up = whole + (static_cast<Real>(whole) < inside ? 1 : 0);
  return static_cast<int32_t>(up < most ? up : most);
}

// One axis of a RoI on the map: bin i is [i*bin + start, (i+1)*bin + start).
template <typename Real>
struct AxisOf {
  Real start;
  Real bin;

  MLUOP_HOST_DEVICE Span Bin(int i, int size) const {
    return {ClampedFloor(static_cast<Real>(i) * bin + start, size),
            ClampedCeil(static_cast<Real>(i + 1) * bin + start, size)};
  }
};
template <typename Real>
using PlaceOf = roi::RoiPlace<Problem, AxisOf<Real>>;
using Axis = AxisOf<float>;
using Place = PlaceOf<float>;

// Writes the axis from the RoI's first and last coordinate; false if a value is not finite.
template <typename Real>
MLUOP_HOST_DEVICE bool MakeAxis(const Problem& p, Real first, Real last, AxisOf<Real>* axis) {
  constexpr auto kShortest = static_cast<Real>(0.1);
  const Real start = std::round(first) * p.scale;  // halves away from zero, before scaling
  const Real end = (std::round(last) + Real{1}) * p.scale;
  const Real length = end - start;
  axis->start = start;
  axis->bin = (length > kShortest ? length : kShortest) / static_cast<Real>(p.group);
  return std::isfinite(start) && std::isfinite(end) && std::isfinite(axis->bin);
}

// roi = [batch, x1, y1, x2, y2]
template <typename Real>
MLUOP_HOST_DEVICE PlaceOf<Real> PlaceRoi(const Problem& p, const Real* roi) {
  PlaceOf<Real> place = {};
  const bool finite =
      MakeAxis(p, roi[1], roi[3], &place.x) && MakeAxis(p, roi[2], roi[4], &place.y);
  place.image = finite ? roi::ImageOf(p.n, roi[0]) : -1;
  return place;
}

}  // namespace mluop::psroipool
