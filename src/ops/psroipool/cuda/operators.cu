// SPDX-License-Identifier: Apache-2.0
// psroipool on CUDA devices: its operators.
#include "ops/psroipool/cuda/kernels.h"

namespace mluop::psroipool {
namespace {

size_t ForwardBytes(const Arguments& a) { return ForwardScratchCuda(MakeProblem(a, 1)); }

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<ForwardCuda>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("psroipool_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<BackwardCuda>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("psroipool_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"psroipool_forward_workspace", ForwardBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::psroipool
