// SPDX-License-Identifier: Apache-2.0
// Shared by the RoI pooling families on all devices: Span (rows or columns), and the image index of
// a RoI.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace mluop::roi {

// Rows or columns [begin, end). Aligned so that a CUDA thread reads it with one load.
struct alignas(8) Span {
  int32_t begin, end;

  MLUOP_HOST_DEVICE int32_t size() const { return end - begin; }
  MLUOP_HOST_DEVICE bool Has(int32_t i) const { return i >= begin && i < end; }
};

// Returns the image that `batch` truncates to; -1 if there is none.
template <typename Real>
MLUOP_HOST_DEVICE int64_t ImageOf(int64_t images, Real batch) {
  if (!(batch > Real{-1} && batch <= static_cast<Real>(images))) return -1;  // NaN too
  const auto image = static_cast<int64_t>(batch);
  return image < images ? image : -1;
}

// The place of a RoI: its image, and the rows and columns of its bins. Axis is a family's type:
// Bin(i, size) returns the rows or columns of bin i within [0, size).
template <class Problem, class Axis>
struct RoiPlace {
  int64_t image;  // -1: the RoI is empty, and so are all its bins
  Axis x, y;

  MLUOP_HOST_DEVICE Span Rows(const Problem& p, int ph) const {
    return image < 0 ? Span{0, 0} : y.Bin(ph, p.h);
  }
  MLUOP_HOST_DEVICE Span Columns(const Problem& p, int pw) const {
    return image < 0 ? Span{0, 0} : x.Bin(pw, p.w);
  }
  // Counts the rows through all images. The implementations that call it require N*H < 2^31.
  MLUOP_HOST_DEVICE Span MapRows(const Problem& p, int ph) const {
    const Span rows = Rows(p, ph);
    const auto first = static_cast<int32_t>((image < 0 ? 0 : image) * p.h);
    return {rows.begin + first, rows.end + first};
  }
};

}  // namespace mluop::roi
