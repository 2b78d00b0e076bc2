// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices: the operators, each defined in its own file.
#pragma once

#include "cuda/context.h"

namespace mluop::masked_im2col {

extern const CudaOperator kForwardCuda;
extern const CudaOperator kBackwardCuda;
extern const CudaOperator kCol2imCuda;
extern const CudaOperator kCol2imBackwardCuda;

// The workspace that masked_col2im_forward asks for.
size_t Col2imCudaBytes(const Arguments& arguments);

}  // namespace mluop::masked_im2col
