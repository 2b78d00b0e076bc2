// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: its operators, and the loop over channels of both directions.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/context.h"
#include "cuda/words.h"
#include "ops/roiaware_pool3d/cuda/tuning.h"
#include "ops/roiaware_pool3d/problem.h"

namespace mluop::roiaware_pool3d {

extern const CudaOperator kForwardCuda, kBackwardCuda;

// Scratch of forward in bytes; also returned by the workspace getter.
size_t ForwardCudaScratchBytes(int64_t boxes, int64_t points);

constexpr int kLanes = 32;
constexpr int kWarps = kThreads / kLanes;
constexpr unsigned kAllLanes = 0xffffffff;

// Channels that a thread loads at once where the rows of T are aligned to 16 bytes.
template <typename T>
inline constexpr int kWide = 16 / sizeof(T);

// Calls visit(row, at) for all at < length of all rows < size. Neighbouring threads of the block have
// neighbouring elements.
template <class Visit>
__device__ void ForEachInRows(uint32_t size, uint32_t length, Visit visit) {
  const uint32_t rows = blockDim.x / length, rest = blockDim.x % length;
  uint32_t row = threadIdx.x / length, at = threadIdx.x % length;
  while (row < size) {
    visit(row, at);
    row += rows, at += rest;
    if (at >= length) at -= length, ++row;
  }
}

}  // namespace mluop::roiaware_pool3d
