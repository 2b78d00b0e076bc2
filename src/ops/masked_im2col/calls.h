// SPDX-License-Identifier: Apache-2.0
// Calls as the CPU kernels see them. T is float or uint16_t, the bits of a half.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/masked_im2col/mask_table.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

// From this size on an output is written past the caches, which would only lose it again.
constexpr int64_t kStreamBytes = int64_t{8} << 20;

template <typename T>
struct ForwardCall {
  // Masks of a step: 32 bytes of a data_col row.
  static constexpr int64_t kStep = 32 / sizeof(T);
  // Masks of a work item; the last one of a row takes up to twice as many. Their corners stay in the
  // L1 cache while the kernel's rows pass over them.
  static constexpr int64_t kBlock = 256;

  Problem p;
  MaskTable masks;
  const T* feature;
  T* data_col;
  bool stream;

  // A work item is a channel and a block of masks.
  int64_t blocks() const { return std::max<int64_t>(1, p.masks / kBlock); }
};

template <typename T>
struct BackwardCall {
  static constexpr int64_t kStep = 8;
  // Channels that are summed side by side.
  static constexpr int64_t kLanes = 8;

  Problem p;
  MaskTable masks;
  const T* grad_col;
  T* grad_feature;
  bool stream;
};

// A work item of backward: pixels [begin, end) of `channels` planes from `channel` on.
struct Band {
  int64_t channel, channels;
  int64_t begin, end;
  float* sums;  // [end - begin, rounded up to a whole tile][kLanes]
};

template <typename T>
struct Col2imCall {
  // Elements of a plane that a work item writes: 32 KiB at most, staged in the L1 cache.
  static constexpr int64_t kTile = 8192;

  Problem p;
  // The masks inside the feature, by tile; within a tile in the order they came.
  const int32_t* source;  // which mask
  const int32_t* offset;  // its element of the tile
  const int32_t* first;   // [tiles + 1] where each tile's masks start
  const T* col;
  T* im;
  bool stream;

  int64_t tiles() const { return (p.plane() + kTile - 1) / kTile; }
};

}  // namespace mluop::masked_im2col
