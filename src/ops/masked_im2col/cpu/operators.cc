// SPDX-License-Identifier: Apache-2.0
// masked_im2col on the CPU: the implementations of its operators.
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CpuContext&)>
mluOpStatus_t Run(const CpuCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CpuImplementation<Whole> kForward[] = {
    {"default", "always", Always, nullptr, Run<ForwardCpu>}};
constexpr CpuOperator kForwardCpu = Bind<MakeWhole, kForward>("masked_im2col_forward");
constexpr CpuImplementation<Whole> kBackward[] = {
    {"default", "always", Always, nullptr, Run<BackwardCpu>}};
constexpr CpuOperator kBackwardCpu = Bind<MakeWhole, kBackward>("masked_im2col_backward");
constexpr CpuImplementation<Whole> kCol2im[] = {
    {"default", "always", Always, nullptr, Run<Col2imCpu>}};
constexpr CpuOperator kCol2imCpu = Bind<MakeWhole, kCol2im>("masked_col2im_forward");
constexpr CpuImplementation<Whole> kCol2imBackward[] = {
    {"default", "always", Always, nullptr, Run<Col2imBackwardCpu>}};
constexpr CpuOperator kCol2imBackwardCpu =
    Bind<MakeWhole, kCol2imBackward>("masked_col2im_backward");

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kCol2imCpu,
                                             &kCol2imBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"masked_im2col_forward_workspace", ForwardWorkspaceSize},
                                     {"masked_col2im_forward_workspace", Col2imWorkspaceSize}};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::masked_im2col
