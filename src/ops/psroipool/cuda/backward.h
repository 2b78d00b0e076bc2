// SPDX-License-Identifier: Apache-2.0
// psroipool backward on CUDA devices: what its first kernel prepares for the second one.
#pragma once

#include "ops/psroipool/cuda/kernels.h"
#include "ops/roi/cuda/roi_masks.h"

namespace mluop::psroipool {

struct Gradients {
  const float* top_grad;   // [R, G, G, output_dim]
  const float* rois;       // [R, 5]
  const int32_t* mapping;  // as top_grad
  float* bottom_grad;      // [N, H, W, C]
};

// What a bin gives to each of its pixels, and which columns they are in.
struct alignas(16) Share {
  float scale;  // 1/area
  Range columns;
};

// What the second kernel reads.
struct Prepared {
  int columns;     // of a block
  RoiMasks masks;  // so many columns at a time
  Share* shares;   // [R, G, G]
  int* others;     // [flags], not 0 where a block has seen another channel than forward's
  int flags;
};
constexpr int kMostFlags = 1024;

// Small maps; false where the map is not small.
bool BackwardSmall(const Problem& p, const Gradients& t, CudaContext& context);

// Blocks of the first kernel, a flag each.
int PrepareBlocks(const Problem& p, const CudaContext& context);

void PrepareBackward(const Problem& p, const Gradients& t, const Prepared& prepared,
                     CudaContext& context);

#if defined(__CUDACC__)

inline __device__ void WriteElement(float* to, float value, bool add) {
  *to = add ? *to + value : value;
}

// 16 bytes at a time: `sums` are as far from a multiple of it as `to`.
inline __device__ void WriteSums(const float* sums, int size, bool add, float* __restrict__ to) {
  const int head = min((4 - ShiftOf(to)) % 4, size), quads = add ? 0 : (size - head) / 4;
  for (int i = static_cast<int>(threadIdx.x); i < quads; i += blockDim.x) {
    reinterpret_cast<float4*>(to + head)[i] = reinterpret_cast<const float4*>(sums + head)[i];
  }
  if (static_cast<int>(threadIdx.x) < head) WriteElement(to + threadIdx.x, sums[threadIdx.x], add);
  for (int i = head + 4 * quads + static_cast<int>(threadIdx.x); i < size; i += blockDim.x) {
    WriteElement(to + i, sums[i], add);
  }
}

#endif  // __CUDACC__

}  // namespace mluop::psroipool
