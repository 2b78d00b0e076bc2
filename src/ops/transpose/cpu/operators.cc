// SPDX-License-Identifier: Apache-2.0
// transpose on the CPU: the implementations of its operators.
#include "ops/transpose/cpu/operators.h"

namespace mluop::transpose {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kTranspose[] = {
    {"default", "always", Always, nullptr, Run<TransposeCpu>}};
constexpr CpuOperator kTransposeCpu = Bind<MakeWhole, kTranspose>("transpose");

constexpr const CpuOperator* kOperators[] = {&kTransposeCpu};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::transpose
