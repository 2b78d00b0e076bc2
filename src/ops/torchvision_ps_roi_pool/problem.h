// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool: the sizes of a call and the geometry of a RoI, for all devices and both
// directions. Coordinates are float arithmetic without fused multiply-add in torchvision's order,
// so that every device chooses torchvision's bins. Real is float, or double in calls of that type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/planes.h"
#include "ops/roi/span.h"

namespace mluop::torchvision_ps_roi_pool {

using roi::Span;

struct Problem : roi::Planes {
  float scale;

  MLUOP_HOST_DEVICE int bins_h() const { return pooled_h; }
  MLUOP_HOST_DEVICE int bins_w() const { return pooled_w; }
};

inline Problem MakeProblem(const Arguments& a) {
  return {{a.Symbol("N"), a.Symbol("H"), a.Symbol("W"), a.Symbol("R"), a.Symbol("O"),
           a.Int("pooled_height"), a.Int("pooled_width")},
          a.Float("spatial_scale")};
}

template <typename T>
struct TensorsOf {
  const T* input;  // [N, O, bins, H, W]
  const T* rois;   // [R, 5]
  T* output;       // [R, O, bins]

  explicit TensorsOf(const Arguments& a)
      : input(a.In<T>("input")), rois(a.In<T>("rois")), output(a.Out<T>("output")) {}
};
using Tensors = TensorsOf<float>;

template <typename T>
struct GradientsOf {
  const T* grad_output;  // [R, O, bins]
  const T* rois;         // [R, 5]
  T* grad_input;         // [N, O, bins, H, W]

  explicit GradientsOf(const Arguments& a)
      : grad_output(a.In<T>("grad_output")),
        rois(a.In<T>("rois")),
        grad_input(a.Out<T>("grad_input")) {}
};
using Gradients = GradientsOf<float>;

// One axis of a RoI on the map: bin i is [i*bin, (i+1)*bin) from `start` on, rounded outwards.
template <typename Real>
struct AxisOf {
  int64_t start;
  Real bin;

  // Clips at size-1, as torchvision's forward does: no bin holds the last row or column.
  MLUOP_HOST_DEVICE Span Bin(int i, int64_t size) const {
    // Neither is negative, so that truncation is floor; std::floor is a function call without SSE4.1.
    const auto first = static_cast<int64_t>(static_cast<Real>(i) * bin);
    const Real last = static_cast<Real>(i + 1) * bin;
    const auto whole = static_cast<int64_t>(last);
    const int64_t end = whole + (static_cast<Real>(whole) < last ? 1 : 0);
    const auto clip = [&](int64_t x) {
      return static_cast<int32_t>(std::clamp<int64_t>(x + start, 0, size - 1));
    };
    return {clip(first), clip(end)};
  }
};
template <typename Real>
using PlaceOf = roi::RoiPlace<Problem, AxisOf<Real>>;
using Axis = AxisOf<float>;
using Place = PlaceOf<float>;

// torchvision converts to int, which is undefined beyond 2^31: the coordinate is clamped to 2^31.
template <typename Real>
MLUOP_HOST_DEVICE int64_t RoundScaled(const Problem& p, Real coordinate) {
  return static_cast<int64_t>(
      std::clamp(std::round(coordinate * p.scale), Real{-0x1p31f}, Real{0x1p31f}));
}

// Returns the axis of a RoI that is split into `count` bins.
template <typename Real>
MLUOP_HOST_DEVICE AxisOf<Real> MakeAxis(const Problem& p, Real first, Real last, int count) {
  const int64_t start = RoundScaled(p, first);
  const int64_t length = std::max<int64_t>(RoundScaled(p, last) - start, 1);
  return {start, static_cast<Real>(length) / static_cast<Real>(count)};
}

// Returns the image of roi = [batch, x1, y1, x2, y2]; -1 if there is none or a coordinate is not
// finite.
template <typename Real>
MLUOP_HOST_DEVICE int64_t ImageOfRoi(const Problem& p, const Real* roi) {
  for (int i = 1; i < 5; ++i) {
    if (!std::isfinite(roi[i] * p.scale)) return -1;
  }
  return roi::ImageOf(p.n, roi[0]);
}

template <typename Real>
MLUOP_HOST_DEVICE PlaceOf<Real> PlaceRoi(const Problem& p, const Real* roi) {
  const int64_t image = ImageOfRoi(p, roi);
  if (image < 0) return {image, {}, {}};
  return {image, MakeAxis(p, roi[1], roi[3], p.pooled_w), MakeAxis(p, roi[2], roi[4], p.pooled_h)};
}

}  // namespace mluop::torchvision_ps_roi_pool
