// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU.
#include "cpu/transpose.h"
#include "ops/transpose/problem.h"

namespace mluop::transpose {
namespace {

mluOpStatus_t Run(const CpuCall<Matrices>& call, void*) {
  return Transpose(call.context, call.p, call.arguments.In<void>("input"),
                   call.arguments.Out<void>("output"));
}

constexpr CpuImplementation<Matrices> kTranspose[] = {{"tiles", "always", Always, nullptr, Run},
                                                      CpuImplementation<Matrices>::ForDouble(Run)};
constexpr CpuOperator kTransposeCpu = Bind<MakeProblem, kTranspose>("transpose");
constexpr const CpuOperator* kOperators[] = {&kTransposeCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::transpose
