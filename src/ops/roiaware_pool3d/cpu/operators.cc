// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d on the CPU: list of operators and getters.
#include "ops/roiaware_pool3d/cpu/operators.h"

namespace mluop::roiaware_pool3d {
namespace {

constexpr const CpuOperator* kOperators[] = {&kForwardCpu, &kBackwardCpu};
constexpr DeviceGetter kGetters[] = {{"roiaware_pool3d_forward_workspace", [](const Arguments& a) {
                                        return ForwardScratchBytes(a.Symbol("B"), a.Symbol("P"));
                                      }}};

}  // namespace

extern const CpuFamily kCpuFamily;
constexpr CpuFamily kCpuFamily = {kOperators, kGetters};

}  // namespace mluop::roiaware_pool3d
