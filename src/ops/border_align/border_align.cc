// SPDX-License-Identifier: Apache-2.0
// border_align: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::border_align {
namespace {

constexpr AttributeSpec kPoolSize = AtLeast("pool_size", 1).SupportedUpTo(65536);
constexpr TensorRow kBoxes = {"boxes", kIn, kT, kAnyLayout, "N K 4", kReject};

// argmax_idx is NHWC in both layouts: only backward reads it, and transposing it would cost as much
// as transposing the output.
constexpr TensorRow Argmax(Direction direction) {
  return {"argmax_idx", direction, kI32, kNHWC, "N K 4 C", kReject};
}

// The shapes of a map and of the results in a layout.
struct Shapes {
  LayoutRule layout;
  std::string_view map, result;
};
constexpr Shapes kNhwcShapes = {kNHWC, "N H W 4*C", "N K 4 C"};
constexpr Shapes kNchwShapes = {kNCHW, "N 4*C H W", "N C K 4"};

constexpr Operator MakeForward(std::string_view name, const Shapes& s) {
  return {OpSpec(name, kHalfOrFloat, {kPoolSize},
                 {{"input", kIn, kT, s.layout, s.map, kReject},
                  kBoxes,
                  {"output", kOut, kT, s.layout, s.result, kReject},
                  Argmax(kOut)}),
          "K"};
}

constexpr Operator MakeBackward(std::string_view name, const Shapes& s) {
  return {OpSpec(name, kHalfOrFloat, {kPoolSize},
                 {{"grad_output", kIn, kT, s.layout, s.result, kReject},
                  kBoxes,
                  Argmax(kIn),
                  {"grad_input", kOut, kT, s.layout, s.map, kReject}})};
}

constexpr Operator kForward = MakeForward("border_align_forward", kNhwcShapes);
constexpr Operator kBackward = MakeBackward("border_align_backward", kNhwcShapes);
constexpr Operator kNchwForward = MakeForward("border_align_nchw_forward", kNchwShapes);
constexpr Operator kNchwBackward = MakeBackward("border_align_nchw_backward", kNchwShapes);

constexpr const Operator* kOperators[] = {&kForward, &kBackward, &kNchwForward, &kNchwBackward};

}  // namespace

extern constexpr Family kFamily = {"border_align", kOperators, {}};

}  // namespace mluop::border_align

using namespace mluop;

// A function for each layout: NHWC and NCHW have the same types.
#define MLUOP_BORDER_ALIGN_FORWARD(function, table)                                         \
  mluOpStatus_t function(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,    \
                         const void* input, const mluOpTensorDescriptor_t boxes_desc,       \
                         const void* boxes, const int32_t pool_size,                        \
                         const mluOpTensorDescriptor_t output_desc, void* output,           \
                         const mluOpTensorDescriptor_t argmax_idx_desc, void* argmax_idx) { \
    return Execute(border_align::table, handle, {pool_size},                                \
                   {{input_desc, input},                                                    \
                    {boxes_desc, boxes},                                                    \
                    {output_desc, output},                                                  \
                    {argmax_idx_desc, argmax_idx}});                                        \
  }
MLUOP_BORDER_ALIGN_FORWARD(mluOpBorderAlignForward, kForward)
MLUOP_BORDER_ALIGN_FORWARD(mluOpBorderAlignNchwForward, kNchwForward)
#undef MLUOP_BORDER_ALIGN_FORWARD

#define MLUOP_BORDER_ALIGN_BACKWARD(function, table)                                           \
  mluOpStatus_t function(mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, \
                         const void* grad_output, const mluOpTensorDescriptor_t boxes_desc,    \
                         const void* boxes, const mluOpTensorDescriptor_t argmax_idx_desc,     \
                         const void* argmax_idx, const int32_t pool_size,                      \
                         const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {    \
    return Execute(border_align::table, handle, {pool_size},                                   \
                   {{grad_output_desc, grad_output},                                           \
                    {boxes_desc, boxes},                                                       \
                    {argmax_idx_desc, argmax_idx},                                             \
                    {grad_input_desc, grad_input}});                                           \
  }
MLUOP_BORDER_ALIGN_BACKWARD(mluOpBorderAlignBackward, kBackward)
MLUOP_BORDER_ALIGN_BACKWARD(mluOpBorderAlignNchwBackward, kNchwBackward)
#undef MLUOP_BORDER_ALIGN_BACKWARD
