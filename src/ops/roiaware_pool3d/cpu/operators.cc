// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: list of operators and getters.
#include "ops/roiaware_pool3d/cpu/operators.h"

#include <algorithm>

namespace mluop::roiaware_pool3d {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};
// Without rois the size is that for one box.
constexpr DeviceGetter kGetters[] = {{"roiaware_pool3d_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratchBytes(
                                            std::max<int64_t>(a.Symbol("B"), 1), a.Symbol("P"));
                                      }}};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
