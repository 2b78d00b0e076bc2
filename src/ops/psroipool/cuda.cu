// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context.h"

namespace mluop::psroipool {

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {{}, {}};

}  // namespace mluop::psroipool
