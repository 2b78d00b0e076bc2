// SPDX-License-Identifier: Apache-2.0
// psroipool: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::psroipool {
namespace {

// The shapes of a map and of pooled values in a layout.
struct Shapes {
  LayoutRule layout;
  std::string_view map, pooled;
};
constexpr Shapes kNhwcShapes = {kNHWC, "N H W pooled_height*pooled_width*output_dim",
                                "R pooled_height pooled_width output_dim"};
constexpr Shapes kNchwShapes = {kNCHW, "N pooled_height*pooled_width*output_dim H W",
                                "R output_dim pooled_height pooled_width"};

constexpr TensorRow kRois = {"rois", kIn, kT, kAnyLayout, "R 5", kReject};

constexpr TensorRow InputRow(const Shapes& s) {
  return {"input", kIn, kT, s.layout, s.map, kSkipFirst};
}

constexpr Operator MakeForward(std::string_view name, const Shapes& s) {
  return {OpSpec(name, kFloat,
                 {AtLeast("pooled_height", 1), AtLeast("pooled_width", 1),
                  Positive("spatial_scale"), AtLeast("group_size", 1), AtLeast("output_dim", 1)},
                 {InputRow(s),
                  kRois,
                  {"output", kOut, kT, s.layout, s.pooled, kReject},
                  {"mapping_channel", kOut, kI32, s.layout, s.pooled, kReject}},
                 {{"group_size", "pooled_height"}, {"pooled_width", "pooled_height"}}),
          "R"};
}

constexpr Operator MakeBackward(std::string_view name, const Shapes& s) {
  return {OpSpec(name, kFloat,
                 {AtLeast("pooled_height", 0), AtLeast("pooled_width", 0),
                  Positive("spatial_scale"), AtLeast("output_dim", 1)},
                 {{"top_grad", kIn, kT, s.layout, s.pooled, kSkip},
                  kRois,
                  {"mapping_channel", kIn, kI32, s.layout, s.pooled, kSkip},
                  {"bottom_grad", kOut, kT, s.layout, s.map, kSkip}},
                 {{"pooled_width", "pooled_height"}})};
}

constexpr Operator kForward = MakeForward("psroipool_forward", kNhwcShapes);
constexpr Operator kBackward = MakeBackward("psroipool_backward", kNhwcShapes);
constexpr Operator kNchwForward = MakeForward("psroipool_nchw_forward", kNchwShapes);
constexpr Operator kNchwBackward = MakeBackward("psroipool_nchw_backward", kNchwShapes);

constexpr OpSpec kForwardWorkspace("psroipool_forward_workspace", kFloat,
                                   {AtLeast("pooled_height", 1), AtLeast("pooled_width", 1),
                                    AtLeast("output_dim", 1)},
                                   {InputRow(kNhwcShapes), kRois},
                                   {{"pooled_width", "pooled_height"}});

constexpr const Operator* kOperators[] = {&kForward, &kBackward, &kNchwForward, &kNchwBackward};
constexpr const OpSpec* kGetters[] = {&kForwardWorkspace};

}  // namespace

extern constexpr Family kFamily = {"psroipool", kOperators, kGetters};

}  // namespace mluop::psroipool

using namespace mluop;

mluOpStatus_t mluOpGetPsRoiPoolForwardWorkspaceSize(mluOpHandle_t handle, const int pooled_height,
                                                    const int pooled_width, const int output_dim,
                                                    const mluOpTensorDescriptor_t input_desc,
                                                    const mluOpTensorDescriptor_t rois_desc,
                                                    size_t* workspace_size) {
  return GetWorkspaceSize(handle,
                          {psroipool::kForwardWorkspace,
                           {pooled_height, pooled_width, output_dim},
                           {input_desc, rois_desc}},
                          workspace_size);
}

// A function for each layout: NHWC and NCHW have the same types.
#define MLUOP_PSROIPOOL_FORWARD(function, table)                                            \
  mluOpStatus_t function(                                                                   \
      mluOpHandle_t handle, const int pooled_height, const int pooled_width,                \
      const float spatial_scale, const int group_size, const int output_dim,                \
      const mluOpTensorDescriptor_t input_desc, const void* input,                          \
      const mluOpTensorDescriptor_t rois_desc, const void* rois, void* workspace,           \
      const size_t workspace_size, const mluOpTensorDescriptor_t output_desc, void* output, \
      const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel) {          \
    return Execute(psroipool::table, handle,                                                \
                   {pooled_height, pooled_width, spatial_scale, group_size, output_dim},    \
                   {{input_desc, input},                                                    \
                    {rois_desc, rois},                                                      \
                    {output_desc, output},                                                  \
                    {mapping_channel_desc, mapping_channel}},                               \
                   {workspace, workspace_size});                                            \
  }
MLUOP_PSROIPOOL_FORWARD(mluOpPsRoiPoolForward, kForward)
MLUOP_PSROIPOOL_FORWARD(mluOpPsRoiPoolNchwForward, kNchwForward)
#undef MLUOP_PSROIPOOL_FORWARD

#define MLUOP_PSROIPOOL_BACKWARD(function, table)                                               \
  mluOpStatus_t function(mluOpHandle_t handle, const int pooled_height, const int pooled_width, \
                         const float spatial_scale, const int output_dim,                       \
                         const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,     \
                         const mluOpTensorDescriptor_t rois_desc, const void* rois,             \
                         const mluOpTensorDescriptor_t mapping_channel_desc,                    \
                         const void* mapping_channel,                                           \
                         const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad) {   \
    return Execute(psroipool::table, handle,                                                    \
                   {pooled_height, pooled_width, spatial_scale, output_dim},                    \
                   {{top_grad_desc, top_grad},                                                  \
                    {rois_desc, rois},                                                          \
                    {mapping_channel_desc, mapping_channel},                                    \
                    {bottom_grad_desc, bottom_grad}});                                          \
  }
MLUOP_PSROIPOOL_BACKWARD(mluOpPsRoiPoolBackward, kBackward)
MLUOP_PSROIPOOL_BACKWARD(mluOpPsRoiPoolNchwBackward, kNchwBackward)
#undef MLUOP_PSROIPOOL_BACKWARD
