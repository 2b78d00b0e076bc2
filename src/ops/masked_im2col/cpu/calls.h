// SPDX-License-Identifier: Apache-2.0
// Kernel parameters (one struct per operator) and work items of the CPU kernels.
#pragma once

#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/tuning.h"

namespace mluop::masked_im2col {

struct ForwardCall {
  Problem p;
  MaskTable masks;
  const void* feature;
  void* data_col;
  int64_t block;  // masks of a work item; the last item of a channel has up to twice as many
  bool half, stream;

  int64_t blocks() const { return std::max<int64_t>(1, p.masks / block); }
};

// Masks per step: 64 bytes of a data_col row.
constexpr int64_t StepMasks(size_t element_bytes) {
  return 64 / static_cast<int64_t>(element_bytes);
}

inline constexpr int kInterleaved = 8;  // channels
inline constexpr int64_t kStepMasks = 8;

struct BackwardCall {
  Problem p;
  MaskTable masks;
  const void* grad_col;
  void* grad_feature;
  bool half, stream;
};

// Pixels [begin, end) of `channels` channels from `channel` on. There are kInterleaved channels, or
// fewer if the call has fewer. The last item may overlap the previous one; it does not store its
// first `skip` channels.
struct Band {
  int64_t channel, channels, skip;
  int64_t begin, end;
  float* sums;  // [end - begin][kInterleaved]

  int64_t pixels() const { return end - begin; }
};

struct Col2imCall {
  Problem p;
  // The masks inside the feature, by tile; within a tile in ascending order.
  int32_t* source;  // [masks] index of the mask
  int32_t* offset;  // [masks] its element of the tile
  int32_t* first;   // [tiles + 1] start of each tile's masks
  const void* col;
  void* im;
  bool half, stream;

  // Tiles of a plane. Planes smaller than a tile share one.
  int64_t tiles() const { return (p.plane() + kTileElements - 1) / kTileElements; }
  int64_t planes() const { return std::max<int64_t>(1, kTileElements / p.plane()); }
  int64_t items() const { return (p.channels + planes() - 1) / planes() * tiles(); }
};

}  // namespace mluop::masked_im2col
