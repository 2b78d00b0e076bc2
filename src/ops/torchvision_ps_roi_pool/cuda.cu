// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

namespace mluop::torchvision_ps_roi_pool {

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {{}, {}};

}  // namespace mluop::torchvision_ps_roi_pool
