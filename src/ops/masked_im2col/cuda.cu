// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

namespace mluop::masked_im2col {

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {{}, {}};

}  // namespace mluop::masked_im2col
