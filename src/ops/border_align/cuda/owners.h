// SPDX-License-Identifier: Apache-2.0
// border_align backward on CUDA devices: which block adds which edges to which sums.
#pragma once

#include "ops/border_align/cuda/heavy_lines.h"

namespace mluop::border_align {

// The most pixels of an owner, so that the sums of a warp fit shared memory.
inline constexpr int kMaxPixels = 256;

// Sums besides the owner's pixels: the pixel before, the one after, and two dummy slots for samples
// of other owners. The higher pixel of a sample is always the next. At the end of the map its
// weight is 0. Its sum is 0, or NaN from infinite gradients, and is added to the last pixel.
inline constexpr int kExtraSums = 4;

// How a call is divided among blocks.
struct Division {
  Problem p;
  int warps;   // of a block, each with 32 channels
  int window;  // samples at a time
  int pixels;  // the most of an owner
  HeavyLines heavy;

  // Floats of a warp: [pixels + kExtraSums, 32].
  MLUOP_HOST_DEVICE int sums() const { return (pixels + kExtraSums) * kWarpLanes; }
  // Parts of a line, each with an owner. The same number for all borders.
  MLUOP_HOST_DEVICE int parts() const {
    const int longest = p.h > p.w ? p.h : p.w;
    return (longest + kMaxPixels - 1) / kMaxPixels;
  }
  // Groups of channels, one for each block that owns a line.
  MLUOP_HOST_DEVICE int groups() const {
    return (p.c + warps * kWarpLanes - 1) / (warps * kWarpLanes);
  }
  // Blocks: the extra chunks of all lists, then their lines. The same number of lines for all
  // borders, so that borders alternate in the grid.
  MLUOP_HOST_DEVICE int64_t blocks() const {
    return int64_t{heavy.lists} * (heavy.extras + heavy.lines) * parts() * groups();
  }
};

template <typename T>
struct BackwardCall : Division {
  const T* grad_output;   // [N, K, 4, C]
  const T* boxes;         // [N, K, 4]
  const int32_t* argmax;  // [N, K, 4, C]
  T* grad_input;          // [N, H, W, 4*C]
  Lists lists;
};

// A block owns a line's pixels, or a part of them, in channels of one border.
struct Owner {
  int image, border, line;
  int lines, size;    // of the map, across and along the border
  int first, pixels;  // of the line; 0 pixels if the line is beyond the map
  int channel;        // of the lane; C or more: it has none
  int index;          // among the owners of the line

  __device__ int list() const { return image * kBorders + border; }
};

// An owner and the chunk of its edges that a block adds.
struct Work {
  Owner owner;
  int chunk;
  int first_extra;  // of the line, if the chunk is an extra one
};

// Puts extra chunks first, because their lines take longest. Then orders the map's first and last
// lines before their neighbours: boxes are often clipped at the map's ends, so most edges lie
// there. Neighbouring lines read the same edges, so their blocks are adjacent in the grid.
__device__ inline Work FindWork(const Division& call, int64_t block) {
  const HeavyLines& heavy = call.heavy;
  const int group = static_cast<int>(block % call.groups());
  const int64_t rest = block / call.groups();
  const int list = static_cast<int>(rest % heavy.lists);
  const int rank = static_cast<int>(rest / heavy.lists) / call.parts();
  const int part = static_cast<int>(rest / heavy.lists) % call.parts();
  const Axes axes = MakeAxes(call.p, list % kBorders);
  const int lines = axes.fixed_size, size = axes.moving_size;
  const int length = (size + call.parts() - 1) / call.parts(), first = part * length;
  const int channel = group * (call.warps * kWarpLanes) + static_cast<int>(threadIdx.x);
  const int index = part * call.groups() + group;
  Work work = {{list / kBorders, list % kBorders, -1, lines, size, first, 0, channel, index}, 0, 0};
  if (rank < heavy.extras) {
    const ExtraChunk extra = heavy.chunks[int64_t{list} * heavy.extras + rank];
    work.owner.line = extra.line;
    work.chunk = rank - extra.first + 1;
    work.first_extra = extra.first;
  } else if (rank - heavy.extras < lines) {
    const int end = (rank - heavy.extras) / 2;
    work.owner.line = (rank - heavy.extras) % 2 == 0 ? end : lines - 1 - end;
  }
  if (work.owner.line >= 0) work.owner.pixels = max(0, min(length, size - first));
  return work;
}

}  // namespace mluop::border_align
