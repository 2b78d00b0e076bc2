// SPDX-License-Identifier: Apache-2.0
// border_align on the CPU: the implementations of its operators.
#include "ops/border_align/cpu/operators.h"

namespace mluop::border_align {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kForward[] = {
    {"default", "always", Always, nullptr, Run<ForwardCpu>}};
constexpr CpuOperator kForwardCpu = Bind<MakeWhole, kForward>("border_align_forward");
constexpr CpuImplementation<Whole> kBackward[] = {
    {"default", "always", Always, nullptr, Run<BackwardCpu>}};
constexpr CpuOperator kBackwardCpu = Bind<MakeWhole, kBackward>("border_align_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::border_align
