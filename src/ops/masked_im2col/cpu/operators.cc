// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im on the CPU: the family's list of operators.
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu, &kCol2imCpu,
                                             &kCol2imBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"masked_im2col_forward_workspace", ForwardWorkspaceSize},
                                     {"masked_col2im_forward_workspace", Col2imWorkspaceSize}};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::masked_im2col
