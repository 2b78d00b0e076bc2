// SPDX-License-Identifier: Apache-2.0
// psroipool: the sizes of a call and the geometry of a RoI, for all devices and both directions.
// Coordinates are float arithmetic without fused multiply-add in the order of the contract, so that
// every device chooses the same bins.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"
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
  MLUOP_HOST_DEVICE int64_t bins() const { return int64_t{group} * group; }
  MLUOP_HOST_DEVICE int64_t channels() const { return bins() * output_dim; }
  MLUOP_HOST_DEVICE int64_t map_elements() const { return rows() * w * channels(); }

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

struct Tensors {
  const float* input;  // [N, H, W, C]
  const float* rois;   // [R, 5]
  float* output;       // [R, G, G, output_dim]
  int32_t* mapping;    // as output

  explicit Tensors(const Arguments& a)
      : input(a.In<float>("input")),
        rois(a.In<float>("rois")),
        output(a.Out<float>("output")),
        mapping(a.Out<int32_t>("mapping_channel")) {}
};

struct Gradients {
  const float* top_grad;   // [R, G, G, output_dim]
  const float* rois;       // [R, 5]
  const int32_t* mapping;  // as top_grad
  float* bottom_grad;      // [N, H, W, C]

  explicit Gradients(const Arguments& a)
      : top_grad(a.In<float>("top_grad")),
        rois(a.In<float>("rois")),
        mapping(a.In<int32_t>("mapping_channel")),
        bottom_grad(a.Out<float>("bottom_grad")) {}
};

// Clamps x to [0, 2^31]; NaN becomes 0. Branch-free: the outcome is unpredictable.
MLUOP_HOST_DEVICE inline float Clamped(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  return positive < 0x1p31f ? positive : 0x1p31f;
}
// clamp(floor(x), 0, size) and clamp(ceil(x), 0, size). The upper clamp compares integers: float
// cannot represent every size above 2^24.
MLUOP_HOST_DEVICE inline int32_t ClampedFloor(float x, int size) {
  const auto whole = static_cast<uint32_t>(Clamped(x)), most = static_cast<uint32_t>(size);
  return static_cast<int32_t>(whole < most ? whole : most);
}
MLUOP_HOST_DEVICE inline int32_t ClampedCeil(float x, int size) {
  const float inside = Clamped(x);
  const auto whole = static_cast<uint32_t>(inside), most = static_cast<uint32_t>(size);
  const uint32_t up = whole + (static_cast<float>(whole) < inside ? 1 : 0);
  return static_cast<int32_t>(up < most ? up : most);
}

// One axis of a RoI on the map: bin i is [i*bin + start, (i+1)*bin + start).
struct Axis {
  float start;
  float bin;

  MLUOP_HOST_DEVICE Span Bin(int i, int size) const {
    return {ClampedFloor(static_cast<float>(i) * bin + start, size),
            ClampedCeil(static_cast<float>(i + 1) * bin + start, size)};
  }
};
using Place = roi::RoiPlace<Problem, Axis>;

// Writes the axis from the RoI's first and last coordinate; false if a value is not finite.
MLUOP_HOST_DEVICE inline bool MakeAxis(const Problem& p, float first, float last, Axis* axis) {
  const float start = std::round(first) * p.scale;  // halves away from zero, before scaling
  const float end = (std::round(last) + 1.0f) * p.scale;
  const float length = end - start;
  axis->start = start;
  axis->bin = (length > 0.1f ? length : 0.1f) / static_cast<float>(p.group);
  return std::isfinite(start) && std::isfinite(end) && std::isfinite(axis->bin);
}

// roi = [batch, x1, y1, x2, y2]
MLUOP_HOST_DEVICE inline Place PlaceRoi(const Problem& p, const float* roi) {
  Place place = {};
  const bool finite =
      MakeAxis(p, roi[1], roi[3], &place.x) && MakeAxis(p, roi[2], roi[4], &place.y);
  place.image = finite ? roi::ImageOf(p.n, roi[0]) : -1;
  return place;
}

}  // namespace mluop::psroipool
