// SPDX-License-Identifier: Apache-2.0
// border_align: tables and C entry points.
#include "core/operator.h"

namespace mluop::border_align {
namespace {

constexpr Operator kForward = {
    OpSpec("border_align_forward", kHalfOrFloat, {AtLeast("pool_size", 1).SupportedUpTo(65536)},
           {{"input", kIn, kT, kNHWC, "N H W 4*C", kReject},
            {"boxes", kIn, kT, kAnyLayout, "N K 4", kReject},
            {"output", kOut, kT, kNHWC, "N K 4 C", kReject},
            {"argmax_idx", kOut, kI32, kNHWC, "N K 4 C", kReject}}),
    "K"};

constexpr Operator kBackward = {OpSpec("border_align_backward", kHalfOrFloat,
                                       {AtLeast("pool_size", 1).SupportedUpTo(65536)},
                                       {{"grad_output", kIn, kT, kNHWC, "N K 4 C", kReject},
                                        {"boxes", kIn, kT, kAnyLayout, "N K 4", kReject},
                                        {"argmax_idx", kIn, kI32, kNHWC, "N K 4 C", kReject},
                                        {"grad_input", kOut, kT, kNHWC, "N H W 4*C", kReject}})};

constexpr const Operator* kOperators[] = {&kForward, &kBackward};

}  // namespace

extern const Family kFamily;
constexpr Family kFamily = {"border_align", kOperators, {}};

}  // namespace mluop::border_align

using namespace mluop;

mluOpStatus_t mluOpBorderAlignForward(mluOpHandle_t handle,
                                      const mluOpTensorDescriptor_t input_desc, const void* input,
                                      const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                      const int32_t pool_size,
                                      const mluOpTensorDescriptor_t output_desc, void* output,
                                      const mluOpTensorDescriptor_t argmax_idx_desc,
                                      void* argmax_idx) {
  return Execute(border_align::kForward, handle, {pool_size},
                 {{input_desc, input},
                  {boxes_desc, boxes},
                  {output_desc, output},
                  {argmax_idx_desc, argmax_idx}});
}

mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void* argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  return Execute(border_align::kBackward, handle, {pool_size},
                 {{grad_output_desc, grad_output},
                  {boxes_desc, boxes},
                  {argmax_idx_desc, argmax_idx},
                  {grad_input_desc, grad_input}});
}
