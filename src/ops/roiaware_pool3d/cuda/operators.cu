// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: what the family offers.
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

size_t ForwardWorkspaceBytes(const Arguments& arguments) {
  return ForwardCudaBytes(arguments.Symbol("B"), arguments.Symbol("P"));
}

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<ForwardCuda>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("roiaware_pool3d_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<BackwardCuda>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("roiaware_pool3d_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};
constexpr DeviceGetter kGetters[] = {
    {"roiaware_pool3d_forward_workspace", ForwardWorkspaceBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
