// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices: what there is.
#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

size_t NoBytes(const Arguments& /*arguments*/) { return 0; }

struct Whole {};
Whole MakeWhole(const Arguments&) { return {}; }

template <mluOpStatus_t (*kRun)(const Arguments&, CudaContext&)>
mluOpStatus_t RunWhole(const CudaCall<Whole>& call, void*) {
  return kRun(call.arguments, call.context);
}

constexpr CudaImplementation<Whole> kForward[] = {{"default", "always", Always, nullptr, RunWhole<ForwardCuda>}};
constexpr CudaOperator kForwardCuda = Bind<MakeWhole, kForward>("masked_im2col_forward");
constexpr CudaImplementation<Whole> kBackward[] = {{"default", "always", Always, nullptr, RunWhole<BackwardCuda>}};
constexpr CudaOperator kBackwardCuda = Bind<MakeWhole, kBackward>("masked_im2col_backward");
constexpr CudaImplementation<Whole> kCol2im[] = {{"default", "always", Always, nullptr, RunWhole<Col2imCuda>}};
constexpr CudaOperator kCol2imCuda = Bind<MakeWhole, kCol2im>("masked_col2im_forward");
constexpr CudaImplementation<Whole> kCol2imBackward[] = {{"default", "always", Always, nullptr, RunWhole<Col2imBackwardCuda>}};
constexpr CudaOperator kCol2imBackwardCuda = Bind<MakeWhole, kCol2imBackward>("masked_col2im_backward");

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kCol2imCuda, &kCol2imBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"masked_im2col_forward_workspace", NoBytes},
                                           {"masked_col2im_forward_workspace", Col2imCudaBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::masked_im2col
