// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: what the family offers.
#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

size_t ForwardWorkspaceBytes(const Arguments& arguments) {
  return ForwardCudaBytes(arguments.Symbol("B"), arguments.Symbol("P"));
}

constexpr CudaFamily::Entry kOperators[] = {{"roiaware_pool3d_forward", ForwardCuda},
                                            {"roiaware_pool3d_backward", BackwardCuda}};
constexpr CudaFamily::Getter kGetters[] = {
    {"roiaware_pool3d_forward_workspace", ForwardWorkspaceBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
