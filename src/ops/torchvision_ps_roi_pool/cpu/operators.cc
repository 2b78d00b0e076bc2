// SPDX-License-Identifier: Apache-2.0
// The CPU family of torchvision_ps_roi_pool: its operators.
#include "ops/torchvision_ps_roi_pool/cpu/operators.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
