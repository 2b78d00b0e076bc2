// SPDX-License-Identifier: Apache-2.0
// psroipool on the CPU: the implementations of its operators.
#include "ops/psroipool/cpu/operators.h"

namespace mluop::psroipool {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kForward[] = {
    {"default", "always", Always, nullptr, Run<ForwardCpu>}};
constexpr CpuOperator kForwardCpu = Bind<MakeWhole, kForward>("psroipool_forward");
constexpr CpuImplementation<Whole> kBackward[] = {
    {"default", "always", Always, nullptr, Run<BackwardCpu>}};
constexpr CpuOperator kBackwardCpu = Bind<MakeWhole, kBackward>("psroipool_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratch(MakeProblem(a, 1));
                                      }}};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
