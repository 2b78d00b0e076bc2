// SPDX-License-Identifier: Apache-2.0
// psamask on CUDA devices: which kernel a call wants. Both modes of atomics get the same copies.
#include "ops/psamask/cuda/kernels.h"

namespace mluop::psamask {
namespace {

template <Layout kLayout, bool kForward>
mluOpStatus_t Run(const Arguments& arguments, CudaContext& context) {
  const Problem p = MakeProblem(arguments);
  const Mapping m = MakeMapping(p, kForward);
  const Storage storage = StorageOf(kLayout, p.type, kForward);
  const CudaTensors tensors = {static_cast<const uint32_t*>(arguments.tensors[0].data),
                               static_cast<uint32_t*>(arguments.tensors[1].data)};
  if (storage.in_by_pixels && storage.out_by_pixels) {
    CopyRunsCuda(m, tensors, context);
  } else if (!storage.in_by_pixels && storage.out_by_pixels && FitsTurned(m)) {
    CopyTurnedCuda(m, tensors, context);
  } else {
    CopyTilesCuda(m, tensors, storage, context);
  }
  return context.status();
}

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<Run<Layout::kNhwc, true>>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("psamask_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<Run<Layout::kNhwc, false>>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("psamask_backward");
constexpr CudaImplementation<Whole> kNchwForward[] = {{"default", "always", Always, nullptr, RunWhole<Run<Layout::kNchw, true>>}};
constexpr CudaOperator kNchwForwardCuda = Bind<MakeWhole, kNchwForward>("psamask_nchw_forward");
constexpr CudaImplementation<Whole> kNchwBackward[] = {{"default", "always", Always, nullptr, RunWhole<Run<Layout::kNchw, false>>}};
constexpr CudaOperator kNchwBackwardCuda = Bind<MakeWhole, kNchwBackward>("psamask_nchw_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kNchwForwardCuda, &kNchwBackwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::psamask
