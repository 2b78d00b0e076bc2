// SPDX-License-Identifier: Apache-2.0
// border_align on CUDA devices: its operators.
#include "ops/border_align/cuda/kernels.h"

namespace mluop::border_align {
namespace {

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<ForwardCuda>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("border_align_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<BackwardCuda>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("border_align_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::border_align
