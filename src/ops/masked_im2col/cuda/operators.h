// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices: the operators, each defined in its own file.
#pragma once

#include "cuda/context.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

extern const CudaOperator kForwardCuda;
extern const CudaOperator kBackwardCuda;
extern const CudaOperator kCol2imCuda;
extern const CudaOperator kCol2imBackwardCuda;

// For tensors of type double (double.cu).
mluOpStatus_t RunDoubleForward(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleBackward(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleCol2im(const CudaCall<Problem>& call, void* scratch);
mluOpStatus_t RunDoubleCol2imBackward(const CudaCall<Problem>& call, void* scratch);

// The workspace that masked_col2im_forward asks for.
size_t Col2imCudaBytes(const Arguments& arguments);

}  // namespace mluop::masked_im2col
