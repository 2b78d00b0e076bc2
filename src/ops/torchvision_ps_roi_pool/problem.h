// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool: the sizes of a call and the geometry of a RoI, for all devices and both
// directions. Coordinates are float arithmetic without fused multiply-add in torchvision's order,
// so that every device chooses torchvision's bins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
#include "ops/roi/span.h"

namespace mluop::torchvision_ps_roi_pool {

using roi::Span;

struct Problem {
  int64_t n, h, w;
  int64_t rois;
  int64_t output_dim;
  int pooled_h, pooled_w;
  float scale;

  // Of a plane, one channel of one image.
  MLUOP_HOST_DEVICE int64_t pixels() const { return h * w; }
  MLUOP_HOST_DEVICE int64_t bins() const { return int64_t{pooled_h} * pooled_w; }
  MLUOP_HOST_DEVICE int64_t channels() const { return bins() * output_dim; }
  MLUOP_HOST_DEVICE int64_t map_elements() const { return n * channels() * pixels(); }

  // Returns the offset of channel c of bin = ph*pooled_w + pw of an image in the map.
  MLUOP_HOST_DEVICE int64_t Plane(int64_t image, int64_t c, int64_t bin) const {
    return ((image * output_dim + c) * bins() + bin) * pixels();
  }
};

inline Problem MakeProblem(const Arguments& a) {
  return {a.Symbol("N"), a.Symbol("H"),          a.Symbol("W"),         a.Symbol("R"),
          a.Symbol("O"), a.Int("pooled_height"), a.Int("pooled_width"), a.Float("spatial_scale")};
}

struct Tensors {
  const float* input;  // [N, O, bins, H, W]
  const float* rois;   // [R, 5]
  float* output;       // [R, O, bins]

  explicit Tensors(const Arguments& a)
      : input(a.In<float>("input")), rois(a.In<float>("rois")), output(a.Out<float>("output")) {}
};

struct Gradients {
  const float* grad_output;  // [R, O, bins]
  const float* rois;         // [R, 5]
  float* grad_input;         // [N, O, bins, H, W]

  explicit Gradients(const Arguments& a)
      : grad_output(a.In<float>("grad_output")),
        rois(a.In<float>("rois")),
        grad_input(a.Out<float>("grad_input")) {}
};

// One axis of a RoI on the map: bin i is [i*bin, (i+1)*bin) from `start` on, rounded outwards.
struct Axis {
  int64_t start;
  float bin;

  // Clips at size-1, as torchvision's forward does: no bin holds the last row or column.
  MLUOP_HOST_DEVICE Span Bin(int i, int64_t size) const {
    // Neither is negative, so that truncation is floor; std::floor is a function call without SSE4.1.
    const auto first = static_cast<int64_t>(static_cast<float>(i) * bin);
    const float last = static_cast<float>(i + 1) * bin;
    const auto whole = static_cast<int64_t>(last);
    const int64_t end = whole + (static_cast<float>(whole) < last ? 1 : 0);
    const auto clip = [&](int64_t x) {
      return static_cast<int32_t>(std::clamp<int64_t>(x + start, 0, size - 1));
    };
    return {clip(first), clip(end)};
  }
};
using Place = roi::RoiPlace<Problem, Axis>;

// torchvision converts to int, which is undefined beyond 2^31: the coordinate is clamped to 2^31.
// False if it is not finite.
MLUOP_HOST_DEVICE inline bool RoundScaled(const Problem& p, float coordinate, int64_t* rounded) {
  const float scaled = coordinate * p.scale;
  if (!std::isfinite(scaled)) return false;
  *rounded = static_cast<int64_t>(std::clamp(std::round(scaled), -0x1p31f, 0x1p31f));
  return true;
}

// Writes the axis of a RoI that is split into `count` bins; false if a coordinate is not finite.
MLUOP_HOST_DEVICE inline bool MakeAxis(const Problem& p, float first, float last, int count,
                                       Axis* axis) {
  int64_t end = 0;
  if (!RoundScaled(p, first, &axis->start) || !RoundScaled(p, last, &end)) return false;
  const int64_t length = std::max<int64_t>(end - axis->start, 1);
  axis->bin = static_cast<float>(length) / static_cast<float>(count);
  return true;
}

// roi = [batch, x1, y1, x2, y2]
MLUOP_HOST_DEVICE inline Place PlaceRoi(const Problem& p, const float* roi) {
  Place place = {};
  const bool finite = MakeAxis(p, roi[1], roi[3], p.pooled_w, &place.x) &&
                      MakeAxis(p, roi[2], roi[4], p.pooled_h, &place.y);
  place.image = finite ? roi::ImageOf(p.n, roi[0]) : -1;
  return place;
}

}  // namespace mluop::torchvision_ps_roi_pool
