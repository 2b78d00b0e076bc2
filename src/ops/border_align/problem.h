// SPDX-License-Identifier: Apache-2.0
// border_align: the sizes of a call, the positions of a border's samples and their neighbours, for
// all devices and both directions. Float arithmetic in the order written: every device must find
// the same pixels. Real is float, or double in calls of that type.
#pragma once

#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"

namespace mluop::border_align {

inline constexpr int kBorders = 4;
enum Border { kTop = 0, kLeft = 1, kBottom = 2, kRight = 3 };

struct Problem {
  int n, h, w, c, k;
  int pool_size;

  MLUOP_HOST_DEVICE int64_t pixels() const { return int64_t{h} * w; }
  MLUOP_HOST_DEVICE int64_t samples() const { return int64_t{pool_size} + 1; }
  MLUOP_HOST_DEVICE int64_t channels() const { return int64_t{kBorders} * c; }
  MLUOP_HOST_DEVICE int64_t elements() const { return n * pixels() * channels(); }  // of the map
};

inline Problem MakeProblem(const Arguments& a) {
  return {static_cast<int>(a.Symbol("N")), static_cast<int>(a.Symbol("H")),
          static_cast<int>(a.Symbol("W")), static_cast<int>(a.Symbol("C")),
          static_cast<int>(a.Symbol("K")), a.Int("pool_size")};
}

template <typename Real>
struct BoxOf {
  Real x1, y1, x2, y2;
};
using Box = BoxOf<float>;

// A border as a walk. Sample i is at `start` plus i times `step`, added one at a time, on one axis
// and at `fixed` on the other.
template <typename Real>
struct EdgeOf {
  Real start, step, fixed;
};
using Edge = EdgeOf<float>;

template <typename Real>
MLUOP_HOST_DEVICE EdgeOf<Real> MakeEdge(const BoxOf<Real>& box, int border, int pool_size) {
  const bool horizontal = border == kTop || border == kBottom;
  const Real length = horizontal ? box.x2 - box.x1 : box.y2 - box.y1;
  const Real step = length / static_cast<Real>(pool_size);
  switch (border) {
    case kTop: return {box.x1, step, box.y1};
    case kLeft: return {box.y1, step, box.x1};
    case kBottom: return {box.x2, -step, box.y2};
    default: return {box.y2, -step, box.x2};
  }
}

// The two pixels that a coordinate lies between on an axis of `size` pixels, and their weights.
template <typename Real>
struct NeighboursOf {
  bool inside;  // false: the sample is 0; NaN is outside
  int low, high;
  Real low_weight, high_weight;
};
using Neighbours = NeighboursOf<float>;

template <typename Real>
MLUOP_HOST_DEVICE NeighboursOf<Real> FindNeighbours(Real position, int size) {
  if (!(position >= Real{-1} && position <= static_cast<Real>(size))) return {false, 0, 0, 0, 0};
  const Real clamped = position > Real{0} ? position : Real{0};
  const int low = static_cast<int>(clamped);
  if (low >= size - 1) return {true, size - 1, size - 1, 1, 0};
  const Real above = clamped - static_cast<Real>(low);
  return {true, low, low + 1, Real{1} - above, above};
}

}  // namespace mluop::border_align
