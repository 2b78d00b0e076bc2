// SPDX-License-Identifier: Apache-2.0
// border_align: the sizes of a call, the positions of a border's samples and their neighbours, for
// all devices and both directions. Float arithmetic in the order written: every device must find
// the same pixels.
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

struct Box {
  float x1, y1, x2, y2;
};

// A border as a sequence of samples. The position of sample i on one axis is `start` plus i
// additions of `step`; on the other axis it is `fixed`.
struct Edge {
  float start, step, fixed;
};

MLUOP_HOST_DEVICE inline Edge MakeEdge(const Box& box, int border, int pool_size) {
  const bool horizontal = border == kTop || border == kBottom;
  const float length = horizontal ? box.x2 - box.x1 : box.y2 - box.y1;
  const float step = length / static_cast<float>(pool_size);
  switch (border) {
    case kTop: return {box.x1, step, box.y1};
    case kLeft: return {box.y1, step, box.x1};
    case kBottom: return {box.x2, -step, box.y2};
    default: return {box.y2, -step, box.x2};
  }
}

// The two pixels that a coordinate lies between on an axis of `size` pixels, and their weights.
struct Neighbours {
  bool inside;  // false: the sample is 0, whatever its other coordinate; NaN is outside
  int low, high;
  float low_weight, high_weight;
};

MLUOP_HOST_DEVICE inline Neighbours FindNeighbours(float position, int size) {
  if (!(position >= -1.0f && position <= static_cast<float>(size))) return {false, 0, 0, 0, 0};
  const float clamped = position > 0.0f ? position : 0.0f;
  const int low = static_cast<int>(clamped);
  if (low >= size - 1) return {true, size - 1, size - 1, 1, 0};
  const float above = clamped - static_cast<float>(low);
  return {true, low, low + 1, 1.0f - above, above};
}

}  // namespace mluop::border_align
