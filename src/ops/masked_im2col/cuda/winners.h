// SPDX-License-Identifier: Apache-2.0
// Which mask won each pixel of a plane: m+1 of the last one there, 0 without any, so that the
// maximum decides and the order does not. For both directions of masked_col2im.
#pragma once

#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {

// col: [C, M], im: [C, H*W]; the one is read and the other written.
template <typename T>
struct Col2imParameters {
  Problem p;
  Masks masks;
  const T* from;
  T* to;
  int32_t* winners = nullptr;  // [H*W], of global memory; NULL: every block makes its own
  int parts = 1;               // of the pixels (backward: of the masks), for different blocks
  int slices = 1;              // of the channels, likewise
  int range = 0;               // forward: pixels of a part
  int planes = 0;              // forward, with tables of blocks: channels at a time
  bool whole_chunks = false;   // likewise: rows of col begin and end where 16-byte loads may
};

inline size_t WinnersBytes(const Problem& p) {
  return static_cast<size_t>(p.plane()) * sizeof(int32_t);
}

inline size_t WinnersScratch(const CudaCall<Problem>& call) { return WinnersBytes(call.p); }

// Fills the table in global memory, in two launches.
void FillWinners(const Problem& p, const Masks& masks, CudaContext& context, int32_t* winners);

#if defined(__CUDACC__)

// A mask's place in the plane; kOutside where it has none.
constexpr uint32_t kOutside = ~0u;
__device__ inline uint32_t PixelOf(const Problem& p, int32_t h, int32_t w) {
  const auto row = static_cast<uint32_t>(h), column = static_cast<uint32_t>(w);
  const auto width = static_cast<uint32_t>(p.width);
  const bool inside = row < static_cast<uint32_t>(p.height) && column < width;
  return inside ? row * width + column : kOutside;
}

#endif

}  // namespace mluop::masked_im2col
