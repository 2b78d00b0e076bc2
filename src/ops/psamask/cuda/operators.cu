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

constexpr CudaFamily::Entry kOperators[] = {
    {"psamask_forward", Run<Layout::kNhwc, true>},
    {"psamask_backward", Run<Layout::kNhwc, false>},
    {"psamask_nchw_forward", Run<Layout::kNchw, true>},
    {"psamask_nchw_backward", Run<Layout::kNchw, false>},
};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::psamask
