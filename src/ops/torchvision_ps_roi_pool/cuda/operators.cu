// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool on CUDA devices: its operators.
#include "ops/torchvision_ps_roi_pool/cuda/kernels.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<ForwardCuda>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("torchvision_ps_roi_pool_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<BackwardCuda>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("torchvision_ps_roi_pool_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
