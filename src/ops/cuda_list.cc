// SPDX-License-Identifier: Apache-2.0
// Lists the CUDA families of op_list.inc: `const CudaFamily <folder>::kCudaFamily`.
#include "cuda/context.h"

#define MLUOP_LIST_FUNCTION CudaFamilies
#define MLUOP_LIST_TYPE CudaFamily
#define MLUOP_LIST_OBJECT kCudaFamily
#define MLUOP_LIST_LINKAGE extern
#include "ops/family_list.inc"
