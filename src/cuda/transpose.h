// SPDX-License-Identifier: Apache-2.0
// Transposes batches of matrices: to[n][b][a] = from[n][a][b], with a < rows and b < columns. Copies
// bits exactly.
#pragma once

#include "core/transposed.h"
#include "cuda/context.h"

namespace mluop {

struct CudaTranspose {
  Matrices matrices;
  const void* from;
  void* to;
};

// Tiles of vectors of up to 16 bytes, for sizes and addresses that are multiples of two elements.
bool CanTransposeVectors(const CudaTranspose& job);
void TransposeVectors(CudaContext& context, const CudaTranspose& job);

// Tiles of single elements. For fewer than 2^31 elements per matrix of half or float.
bool CanTransposeTiles(const CudaTranspose& job);
void TransposeElements(CudaContext& context, const CudaTranspose& job);

// One thread per element: double, and matrices of any size.
void TransposeAny(CudaContext& context, const CudaTranspose& job);

// Chooses the first of the above that applies.
mluOpStatus_t Transpose(CudaContext& context, const Matrices& matrices, const void* from, void* to);

}  // namespace mluop
