// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU: the implementations of its operators.
#include "ops/psamask/cpu/operators.h"

namespace mluop::psamask {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kForward[] = {
    {"default", "always", Always, nullptr, Run<ForwardCpu>}};
constexpr CpuOperator kForwardCpu = Bind<MakeWhole, kForward>("psamask_forward");
constexpr CpuImplementation<Whole> kBackward[] = {
    {"default", "always", Always, nullptr, Run<BackwardCpu>}};
constexpr CpuOperator kBackwardCpu = Bind<MakeWhole, kBackward>("psamask_backward");
constexpr CpuImplementation<Whole> kNchwForward[] = {
    {"default", "always", Always, nullptr, Run<NchwForwardCpu>}};
constexpr CpuOperator kNchwForwardCpu = Bind<MakeWhole, kNchwForward>("psamask_nchw_forward");
constexpr CpuImplementation<Whole> kNchwBackward[] = {
    {"default", "always", Always, nullptr, Run<NchwBackwardCpu>}};
constexpr CpuOperator kNchwBackwardCpu = Bind<MakeWhole, kNchwBackward>("psamask_nchw_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kNchwForwardCpu,
                                             &kNchwBackwardCpu};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::psamask
