// SPDX-License-Identifier: Apache-2.0
// The sizes of position-sensitive pooling on NCHW tensors. The map is [N, O, bins, H, W]; pooled values
// are [R, O, bins]. A plane is one channel of one image.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace mluop::roi {

struct Planes {
  int64_t n, h, w;
  int64_t rois;
  int64_t output_dim;
  int pooled_h, pooled_w;

  // Of a plane.
  MLUOP_HOST_DEVICE int64_t pixels() const { return h * w; }
  MLUOP_HOST_DEVICE int64_t bins() const { return int64_t{pooled_h} * pooled_w; }
  MLUOP_HOST_DEVICE int64_t channels() const { return bins() * output_dim; }
  MLUOP_HOST_DEVICE int64_t map_elements() const { return n * channels() * pixels(); }

  // Returns the offset of channel c of bin = ph*pooled_w + pw of an image in the map.
  MLUOP_HOST_DEVICE int64_t Plane(int64_t image, int64_t c, int64_t bin) const {
    return ((image * output_dim + c) * bins() + bin) * pixels();
  }
};

}  // namespace mluop::roi
