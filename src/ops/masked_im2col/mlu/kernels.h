// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on the MLU: the arguments that the host passes to the kernels, as plain
// structs, which BANG C includes too.
#pragma once

#include "ops/roi/mlu/launch_config.h"

namespace mluop {
namespace masked_im2col {

using roi::LaunchConfig;

struct MaskedIm2colParam {
  int channels, height, width;
  int mask_cnt;
  int kernel_h, kernel_w;
  int pad_h, pad_w;
};

enum { kTileSize = 64 };  // elements of a side of a transposed tile; 128 leaves cores idle

// `batch` transposes of [rows][cols]: dst[b][c][r] = src[b][r][c]. Strides in elements.
struct TransposeParam {
  int batch, rows, cols;
  size_t src_batch, src_row;
  size_t dst_batch, dst_row;
};

// T: half or float.
struct MaskedIm2colTensors {
  const void* feature;  // T [height, width, channels], in the workspace
  const int* mask_h_idx;
  const int* mask_w_idx;
  void* data_col;  // T [mask_cnt, kernel_h, kernel_w, channels], in the workspace
};

struct Im2colKernels {
  void (*fill)(const LaunchConfig& launch, void* data, size_t bytes);
  void (*transpose)(const LaunchConfig& launch, const TransposeParam& param, const void* src,
                    void* dst);
  void (*im2col)(const LaunchConfig& launch, const MaskedIm2colParam& param,
                 const MaskedIm2colTensors& tensors);
};
const Im2colKernels& KernelsOf(bool half_type);

}  // namespace masked_im2col
}  // namespace mluop
