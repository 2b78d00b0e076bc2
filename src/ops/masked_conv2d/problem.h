// SPDX-License-Identifier: Apache-2.0
// masked_conv2d: the sizes of a call and the feature pixel that a window element reads.
//
// A position is a pixel of the mask and of the output, a tap an element of the kernel.
#pragma once

#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"

namespace mluop::masked_conv2d {

// Along one axis: position p reads the coordinate p * stride - pad + tap * dilation.
struct Axis {
  int64_t size;       // of the features
  int64_t positions;  // of the mask
  int kernel, stride, pad, dilation;

  // Returns -1 outside the features.
  MLUOP_HOST_DEVICE int64_t Coordinate(int64_t position, int tap) const {
    const int64_t at = position * stride - pad + int64_t{tap} * dilation;
    return at >= 0 && at < size ? at : -1;
  }
};

struct Problem {
  int64_t images, channels, outputs;  // outputs: channels of the output
  Axis y, x;

  MLUOP_HOST_DEVICE int64_t plane() const { return y.size * x.size; }
  MLUOP_HOST_DEVICE int64_t positions() const { return y.positions * x.positions; }
  MLUOP_HOST_DEVICE int64_t taps() const { return int64_t{y.kernel} * x.kernel; }

  // Returns the pixel of the plane that a tap reads, or -1 outside.
  MLUOP_HOST_DEVICE int64_t Pixel(int64_t position, int64_t tap) const {
    const int64_t row = y.Coordinate(position / x.positions, static_cast<int>(tap / x.kernel));
    const int64_t column = x.Coordinate(position % x.positions, static_cast<int>(tap % x.kernel));
    return row < 0 || column < 0 ? -1 : row * x.size + column;
  }
};

inline Problem MakeProblem(const Arguments& a) {
  return {a.Symbol("N"),
          a.Symbol("C"),
          a.Symbol("O"),
          {a.Symbol("H"), a.Symbol("P"), a.Int("kernel_h"), a.Int("stride_h"), a.Int("pad_h"),
           a.Int("dilation_h")},
          {a.Symbol("W"), a.Symbol("Q"), a.Int("kernel_w"), a.Int("stride_w"), a.Int("pad_w"),
           a.Int("dilation_w")}};
}

}  // namespace mluop::masked_conv2d
