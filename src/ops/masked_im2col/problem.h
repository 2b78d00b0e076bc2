// SPDX-License-Identifier: Apache-2.0
// masked_im2col: the sizes of a call and the mapping from (mask, kernel element) to a feature
// element, for all devices and all directions.
//
// Mask m puts the kernel's upper left corner at (Top(mask_h[m]), Left(mask_w[m])). Indices and pads
// may be any int32, so that corner is a 64-bit sum. Top and Left clamp the corner to just outside
// the feature. The result is the same, and it fits 32 bits.
#pragma once

#include <cstdint>

#include "core/arguments.h"
#include "core/host_device.h"

namespace mluop::masked_im2col {

struct Problem {
  int channels, height, width;
  int masks;
  int kernel_h, kernel_w;
  int pad_h, pad_w;

  MLUOP_HOST_DEVICE int64_t plane() const { return int64_t{height} * width; }
  // Kernel elements.
  MLUOP_HOST_DEVICE int64_t taps() const { return int64_t{kernel_h} * kernel_w; }

  MLUOP_HOST_DEVICE int32_t Top(int32_t mask_h) const {
    return Clamp(int64_t{mask_h} - pad_h, -int64_t{kernel_h}, height);
  }
  MLUOP_HOST_DEVICE int32_t Left(int32_t mask_w) const {
    return Clamp(int64_t{mask_w} - pad_w, -int64_t{kernel_w}, width);
  }

  MLUOP_HOST_DEVICE bool HasRow(int64_t row) const { return IsBelow(row, height); }
  MLUOP_HOST_DEVICE bool HasColumn(int64_t column) const { return IsBelow(column, width); }

  // Offset in a plane; -1 outside.
  MLUOP_HOST_DEVICE int64_t Offset(int64_t row, int64_t column) const {
    return HasRow(row) && HasColumn(column) ? row * width + column : -1;
  }

 private:
  // In [0, size), in one comparison.
  MLUOP_HOST_DEVICE static bool IsBelow(int64_t value, int size) {
    return static_cast<uint64_t>(value) < static_cast<uint64_t>(size);
  }
  MLUOP_HOST_DEVICE static int32_t Clamp(int64_t value, int64_t low, int64_t high) {
    return static_cast<int32_t>(value < low ? low : value > high ? high : value);
  }
};

// col2im's table has no kernel: one element without pad.
inline Problem MakeProblem(const Arguments& a) {
  const auto attribute = [&](const char* name, int default_value) {
    return a.spec->AttributeIndex(name) < 0 ? default_value : a.Int(name);
  };
  return {static_cast<int>(a.Symbol("C")), static_cast<int>(a.Symbol("H")),
          static_cast<int>(a.Symbol("W")), static_cast<int>(a.Symbol("M")),
          attribute("kernel_h", 1),        attribute("kernel_w", 1),
          attribute("pad_h", 0),           attribute("pad_w", 0)};
}

}  // namespace mluop::masked_im2col
