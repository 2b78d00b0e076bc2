// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

namespace mluop::border_align {

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {{}, {}};

}  // namespace mluop::border_align
