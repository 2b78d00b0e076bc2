// SPDX-License-Identifier: Apache-2.0
// Calls as the CPU kernels see them. T is float or, for half, uint16_t where elements are copied
// and Half where they are added.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/tuning.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

template <typename T>
struct ForwardCall {
  // Masks of a step: 64 bytes of a data_col row.
  static constexpr int64_t kStep = 64 / sizeof(T);
  // Masks of a work item; the last one of a row takes up to twice as many.
  static constexpr int64_t kBlock = kBlockBytes / sizeof(T);

  Problem p;
  const int32_t* mask_h;
  const int32_t* mask_w;
  MaskTable masks;  // unless direct()
  const T* feature;
  T* data_col;
  bool stream;

  // A step needs its masks.
  bool direct() const { return p.masks < kStep || p.channels * p.taps() < kLeastOfTable; }
  int64_t blocks() const { return std::max<int64_t>(1, p.masks / kBlock); }
  // A work item is a block of masks of a channel, or a chunk of a channel.
  int64_t items() const {
    const int64_t chunks = (p.taps() * p.masks + kDirectChunk - 1) / kDirectChunk;
    return p.channels * (direct() ? chunks : blocks());
  }
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

  bool side_by_side() const {
    return p.channels >= kLanes && p.taps() * p.masks >= p.plane() / kPixelsPerSum;
  }
  // Channels of a work item; small planes one after the other, so that an item is worth its while.
  int64_t lanes() const {
    return side_by_side() ? kLanes : std::max<int64_t>(1, kItemPixels / p.plane());
  }
};

// A work item of backward: pixels [begin, end) of the planes of `channels` channels from `channel`
// on.
struct Band {
  int64_t channel, channels;
  int64_t begin, end;
  // [end - begin, rounded up to 16][kLanes], or [end - begin] where channels come one by one.
  float* sums;
  // Side by side there are always kLanes channels: the first few may be another item's.
  int64_t skip;

  int64_t pixels() const { return end - begin; }
};

template <typename T>
struct Col2imCall {
  static constexpr int64_t kTile = kTileElements;

  Problem p;
  // The masks inside the feature, by tile; within a tile in the order they came.
  const int32_t* source;  // which mask
  const int32_t* offset;  // its element of the tile
  const int32_t* first;   // [tiles + 1] where each tile's masks start
  const T* col;
  T* im;
  bool stream;

  // Of a plane. A tile that has the whole plane takes further planes along, up to its size.
  int64_t tiles() const { return (p.plane() + kTile - 1) / kTile; }
  int64_t planes() const { return std::max<int64_t>(1, kTile / p.plane()); }
  // Where the masks are put in order once for all channels.
  bool sorted() const { return p.channels >= kLeastOfOrder; }
  // A work item is a group of planes and a tile.
  int64_t items() const { return (p.channels + planes() - 1) / planes() * tiles(); }
};

}  // namespace mluop::masked_im2col
