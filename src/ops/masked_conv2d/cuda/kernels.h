// SPDX-License-Identifier: Apache-2.0
// masked_conv2d on CUDA devices: the layout of scratch and the three launches of a batch of images.
//
//   Arrange   finds the masked positions; features become rows of channels, weights rows of terms
//   Multiply  sums[split][rank][output]: products of tiles, rank r is the r-th masked position
//   Finish    adds splits and bias in a fixed order; writes the output, zeros between
//
// The number of masked positions stays on the device: blocks of Multiply beyond it end at once.
#pragma once

#include <cuda_fp16.h>

#include "cuda/context.h"
#include "ops/masked_conv2d/cuda/tuning.h"
#include "ops/masked_conv2d/problem.h"

namespace mluop::masked_conv2d {

// The sizes of a batch, with channels and outputs rounded up to whole tiles.
struct Sizes {
  int images, height, width, plane;
  int rows, columns, positions;  // of the mask; positions of the whole batch
  int channels, outputs, taps, kernel_w;
  int padded_channels, padded_outputs;
  int splits;

  MLUOP_HOST_DEVICE int64_t terms() const { return int64_t{taps} * padded_channels; }
  MLUOP_HOST_DEVICE int image_positions() const { return rows * columns; }
};

// How windows lie in the features. All coordinates are below 2^30.
struct Geometry {
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

template <typename T>
struct Tensors {
  const T* features;  // [image][channel][pixel]
  const T* mask;      // [position]
  const T* weight;    // [output][channel][tap]
  const T* bias;      // [output]
  T* output;          // [image][output][position of the image]
};

// Scratch of a batch.
template <typename T>
struct Arranged {
  T* features;  // [image][pixel][padded channel]
  T* weight;    // [padded output][tap][padded channel]
  int* masked;  // [rank]: the position
  int* rank;    // [position]: -1 if it is not masked
  int* count;   // of masked positions
  float* sums;  // [split][rank rounded up to kTile][padded output]
};

MLUOP_HOST_DEVICE constexpr int64_t RoundUp(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Terms that a step of Multiply adds, channels of one tap: 64 bytes.
template <typename T>
inline constexpr int kDepth = 64 / sizeof(T);

template <typename T>
void Arrange(CudaContext& context, const Sizes& sizes, const Tensors<T>& tensors,
             const Arranged<T>& to, bool with_weight);
template <typename T>
void Multiply(CudaContext& context, const Sizes& sizes, const Geometry& geometry,
              const Arranged<T>& arranged);
template <typename T>
void Finish(CudaContext& context, const Sizes& sizes, const Tensors<T>& tensors,
            const Arranged<T>& from);

}  // namespace mluop::masked_conv2d
