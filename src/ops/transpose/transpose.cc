// SPDX-License-Identifier: Apache-2.0
// transpose: table and C entry point.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::transpose {
namespace {

constexpr Operator kTranspose = {OpSpec("transpose", kHalfOrFloat, {},
                                        {{"input", kIn, kT, kAnyLayout, "N A B", kSkip},
                                         {"output", kOut, kT, kAnyLayout, "N B A", kSkip}})};

constexpr const Operator* kOperators[] = {&kTranspose};

}  // namespace

extern constexpr Family kFamily = {"transpose", kOperators, {}};

}  // namespace mluop::transpose

using namespace mluop;

mluOpStatus_t mluOpTranspose(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                             const void* input, const mluOpTensorDescriptor_t output_desc,
                             void* output) {
  return Execute(transpose::kTranspose, handle, {}, {{input_desc, input}, {output_desc, output}});
}
