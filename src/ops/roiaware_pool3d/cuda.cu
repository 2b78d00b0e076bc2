// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

namespace mluop::roiaware_pool3d {

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {{}, {}};

}  // namespace mluop::roiaware_pool3d
