// SPDX-License-Identifier: Apache-2.0
// border_align forward on the MLU: the arguments that the host passes to the kernel, as plain
// structs, which BANG C includes too.
#pragma once

#include "ops/roi/mlu/launch_config.h"

namespace mluop {
namespace border_align {

using roi::LaunchConfig;

struct BorderAlignParam {
  int n, h, w, c, k;
  int pool_size;
  int deal_num;  // channels that a core processes at a time
};

// T: half or float.
struct BorderAlignTensors {
  const void* input;  // T [n, h, w, 4 * c]
  const void* boxes;  // T [n, k, 4]
  void* output;       // T [n, k, 4, c]
  int* argmax_idx;    // as output
};

void KernelBorderAlignForwardFloat(const LaunchConfig& launch, const BorderAlignParam& param,
                                   const BorderAlignTensors& tensors);
void KernelBorderAlignForwardHalf(const LaunchConfig& launch, const BorderAlignParam& param,
                                  const BorderAlignTensors& tensors);

}  // namespace border_align
}  // namespace mluop
