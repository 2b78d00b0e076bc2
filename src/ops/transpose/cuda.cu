// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices: squares of the matrix through shared memory, so that both sides of the
// copy touch whole sectors.
#include "core/cuda/context.h"

namespace mluop::transpose {
namespace {

constexpr int kSquare = 64;
constexpr int kThreads = 256;

struct Matrices {
  int64_t n, a, b;

  __host__ __device__ int64_t across() const { return (b + kSquare - 1) / kSquare; }
  __host__ __device__ int64_t squares() const {
    return n * ((a + kSquare - 1) / kSquare) * across();
  }
};

// input: [n, a, b], output: [n, b, a]
template <typename T>
__global__ void __launch_bounds__(kThreads)
    TransposeSquares(Matrices m, const T* __restrict__ input, T* __restrict__ output) {
  // A row's end is padded by one word of shared memory, so that a column lies in different banks.
  __shared__ T square[kSquare][kSquare + 4 / sizeof(T)];
  constexpr int kStep = kThreads / kSquare;
  const int lane = threadIdx.x % kSquare, first = threadIdx.x / kSquare;
  for (int64_t i = blockIdx.x; i < m.squares(); i += gridDim.x) {
    const int64_t b0 = i % m.across() * kSquare;
    const int64_t row = i / m.across(), rows = (m.a + kSquare - 1) / kSquare;
    const int64_t a0 = row % rows * kSquare, matrix = row / rows * m.a * m.b;
#pragma unroll
    for (int r = first; r < kSquare; r += kStep) {
      if (a0 + r < m.a && b0 + lane < m.b)
        square[r][lane] = input[matrix + (a0 + r) * m.b + b0 + lane];
    }
    __syncthreads();
#pragma unroll
    for (int r = first; r < kSquare; r += kStep) {
      if (b0 + r < m.b && a0 + lane < m.a)
        output[matrix + (b0 + r) * m.a + a0 + lane] = square[lane][r];
    }
    __syncthreads();
  }
}

mluOpStatus_t TransposeCuda(const Arguments& a, CudaContext& context) {
  const Matrices m = {a.Symbol("N"), a.Symbol("A"), a.Symbol("B")};
  const Grid grid = {m.squares(), kThreads};
  if (a.Type() == MLUOP_DTYPE_HALF) {
    context.Launch(TransposeSquares<uint16_t>, grid, m, a.In<uint16_t>("input"),
                   a.Out<uint16_t>("output"));
  } else {
    context.Launch(TransposeSquares<uint32_t>, grid, m, a.In<uint32_t>("input"),
                   a.Out<uint32_t>("output"));
  }
  return context.status();
}

constexpr CudaFamily::Entry kOperators[] = {{"transpose", TransposeCuda}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::transpose
