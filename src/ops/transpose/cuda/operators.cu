// SPDX-License-Identifier: Apache-2.0
// transpose on CUDA devices.
#include "cuda/transpose.h"
#include "ops/transpose/problem.h"

namespace mluop::transpose {
namespace {

using TransposeCall = CudaCall<Matrices>;

CudaTranspose JobOf(const TransposeCall& call) {
  return {call.p, call.arguments.In<void>("input"), call.arguments.Out<void>("output")};
}

template <bool (*kCan)(const CudaTranspose&)>
bool Applies(const TransposeCall& call) {
  return kCan(JobOf(call));
}

template <void (*kTransposeJob)(CudaContext&, const CudaTranspose&)>
mluOpStatus_t Run(const TransposeCall& call, void*) {
  kTransposeJob(call.context, JobOf(call));
  return call.context.status();
}

constexpr CudaImplementation<Matrices> kTranspose[] = {
    {"vectors", "A, B and both addresses are multiples of 2 elements", Applies<CanTransposeVectors>,
     nullptr, Run<TransposeVectors>},
    {"elements", "a matrix has fewer than 2^31 elements", Applies<CanTransposeTiles>, nullptr,
     Run<TransposeElements>},
    CudaImplementation<Matrices>::Beyond32Bits(
        {"large", "always", Always, nullptr, Run<TransposeAny>}),
    CudaImplementation<Matrices>::ForDouble(Run<TransposeAny>)};
constexpr CudaOperator kTransposeCuda = Bind<MakeProblem, kTranspose>("transpose");
constexpr const CudaOperator* kOperators[] = {&kTransposeCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::transpose
