// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: the implementations of its operators.
#include "ops/roiaware_pool3d/cpu/operators.h"

namespace mluop::roiaware_pool3d {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kForward[] = {
    {"default", "always", Always, nullptr, Run<ForwardCpu>}};
constexpr CpuOperator kForwardCpu = Bind<MakeWhole, kForward>("roiaware_pool3d_forward");
constexpr CpuImplementation<Whole> kBackward[] = {
    {"default", "always", Always, nullptr, Run<BackwardCpu>}};
constexpr CpuOperator kBackwardCpu = Bind<MakeWhole, kBackward>("roiaware_pool3d_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"roiaware_pool3d_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratchBytes(a.Symbol("B"), a.Symbol("P"));
                                      }}};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
