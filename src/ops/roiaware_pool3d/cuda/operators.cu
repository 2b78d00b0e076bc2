// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on CUDA devices: list of operators and getters.
#include <algorithm>

#include "ops/roiaware_pool3d/cuda/kernels.h"

namespace mluop::roiaware_pool3d {
namespace {

// Without rois the size is that for one box.
size_t WorkspaceBytes(const Arguments& a) {
  return ForwardCudaScratchBytes(std::max<int64_t>(a.Symbol("B"), 1), a.Symbol("P"));
}

constexpr const CudaOperator* kOperators[] = {&kForwardCuda, &kBackwardCuda};
constexpr DeviceGetter kGetters[] = {{"roiaware_pool3d_forward_workspace", WorkspaceBytes}};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
