// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices, implementation "double": a thread copies an element, stores are
// coalesced.
#include "ops/transpose/cuda/double.h"

namespace mluop::transpose {
namespace {

constexpr int kDoubleThreads = 256;

__global__ void __launch_bounds__(kDoubleThreads)
    CopyElements(Problem p, const double* input, double* output) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= p.n * p.a * p.b) return;
  const int64_t a = i % p.a, b = i / p.a % p.b, matrix = i / p.a / p.b;
  output[i] = input[(matrix * p.a + a) * p.b + b];
}

}  // namespace

mluOpStatus_t RunDouble(const CudaCall<Problem>& call, void*) {
  const int64_t elements = call.p.n * call.p.a * call.p.b;
  call.context.Launch(CopyElements, {CeilDiv(elements, kDoubleThreads), kDoubleThreads}, call.p,
                      call.arguments.In<double>("input"), call.arguments.Out<double>("output"));
  return call.context.status();
}

}  // namespace mluop::transpose
