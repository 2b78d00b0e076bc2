// SPDX-License-Identifier: Apache-2.0
// psamask on the MLU: the arguments that the host passes to the kernels, as plain structs, which
// BANG C includes too.
#pragma once

#include "ops/roi/mlu/launch_config.h"

namespace mluop {
namespace psamask {

using roi::LaunchConfig;

// Document 003, 3.3: one dimension is split over the clusters, and one over the cores of a cluster.
enum Dimension { kDimN = 0, kDimH = 1, kDimW = 2 };

struct Partition {
  Dimension cluster_dim;
  Dimension core_dim;
};

// Document 003, 3.2.3 (findlimit): the images, rows and pixels that a core processes at a time.
// Their masks and feature grids take this many elements of NRAM. DISTRIBUTE has a second space of
// feature_elements for the transpose.
struct Limit {
  int n, h, w;
  int mask_elements;
  int feature_elements;
};

struct PsamaskParam {
  int distribute;  // psa_type: 0 COLLECT, 1 DISTRIBUTE
  int extent[3];   // N, h_feature, w_feature
  int h_mask, w_mask;
  Partition partition;
  Limit limit;
};

// __bang_transpose on 2xx: both sides are multiples of 64 bytes.
enum { kTransposeAlign = 64 / sizeof(float) };

// x: [N, H, W, h_mask*w_mask], y: [N, H, W, H*W].
void KernelPsamaskForward(const LaunchConfig& launch, const PsamaskParam& param, const float* x,
                          float* y);
void KernelPsamaskBackward(const LaunchConfig& launch, const PsamaskParam& param, const float* dy,
                           float* dx);

}  // namespace psamask
}  // namespace mluop
