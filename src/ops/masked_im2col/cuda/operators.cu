// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on CUDA devices: the family's list of operators.
#include "ops/masked_im2col/cuda/kernels.h"

namespace mluop::masked_im2col {
namespace {

size_t NoBytes(const Arguments& /*arguments*/) { return 0; }

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda, &kCol2imCuda,
                                              &kCol2imBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"masked_im2col_forward_workspace", NoBytes},
                                     {"masked_col2im_forward_workspace", Col2imCudaBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::masked_im2col
