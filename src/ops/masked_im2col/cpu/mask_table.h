// SPDX-License-Identifier: Apache-2.0
// The table of the masks that the CPU kernels of im2col read, computed once per call. Masks are
// processed in steps of up to 32. The table holds the range of corners of every step. Its bits tell
// for every mask which kernel rows and columns are inside the feature.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/thread_pool.h"
#include "ops/masked_im2col/cpu/tuning.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

struct MaskStep {
  int64_t low, high;  // the least and the greatest corner
  // True if all kernel rows, or all kernel columns, of all its masks are inside the feature.
  bool rows_inside, columns_inside;

  bool inside() const { return rows_inside && columns_inside; }
};

struct MaskTable {
  int64_t* corner;    // [masks] top*W + left: the kernel's upper left corner in a plane
  MaskStep* steps;    // [steps]
  uint32_t* rows;     // [steps][kernel_h] bit k: the row of the step's mask k is inside
  uint32_t* columns;  // [steps][kernel_w] the same for columns
  uint16_t* places;   // [steps][step] a corner's distance from low, modulo 2^16
  int64_t masks, step, kernel_h, kernel_w;

  // The last step ends with the last mask and may overlap its predecessor, so all steps are whole.
  // If there are fewer masks than a step has, the only step is shorter.
  int64_t StepBegin(int64_t s) const {
    return std::max<int64_t>(0, std::min(s * step, masks - step));
  }
  // Bit k: element (i, j) of the step's mask k is inside the feature.
  uint32_t Inside(int64_t s, int64_t i, int64_t j) const {
    return rows[s * kernel_h + i] & columns[s * kernel_w + j];
  }
};

struct MaskIndices {
  const int32_t* h;
  const int32_t* w;
};
inline MaskIndices MasksOf(const Arguments& a) {
  return {a.In<int32_t>("mask_h_idx"), a.In<int32_t>("mask_w_idx")};
}

size_t MaskTableBytes(const Problem& p, int64_t step);
MaskTable MakeMaskTable(const Problem& p, const MaskIndices& masks, int64_t step, void* memory,
                        ThreadPool& threads);

// ---- kernel parameters, one struct per operator, and work items ----

struct ForwardCall {
  Problem p;
  MaskTable masks;
  const void* feature;
  void* data_col;
  int64_t block;  // masks of a work item; the last item of a channel has up to twice as many
  size_t element_bytes;
  bool stream;

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
  size_t element_bytes;
  bool stream;

  // Tiles of a plane. Planes smaller than a tile share one.
  int64_t tiles() const { return (p.plane() + kTileElements - 1) / kTileElements; }
  int64_t planes() const { return std::max<int64_t>(1, kTileElements / p.plane()); }
  int64_t items() const { return (p.channels + planes() - 1) / planes() * tiles(); }
};

}  // namespace mluop::masked_im2col
