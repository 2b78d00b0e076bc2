// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

// Over an empty map every bin is empty: the output is zeros, and is written.
constexpr Operator kForward = {
    OpSpec("torchvision_ps_roi_pool_forward", kFloat,
           {AtLeast("pooled_height", 1), AtLeast("pooled_width", 1), Positive("spatial_scale")},
           {{"input", kIn, kT, kNCHW, "N O*pooled_height*pooled_width H W", kCompute},
            {"rois", kIn, kT, kAnyLayout, "R 5", kSkip},
            {"output", kOut, kT, kNCHW, "R O pooled_height pooled_width", kSkip}}),
    "R"};

// Without RoIs the gradient is zero and is written.
constexpr Operator kBackward = {
    OpSpec("torchvision_ps_roi_pool_backward", kFloat,
           {AtLeast("pooled_height", 1), AtLeast("pooled_width", 1), Positive("spatial_scale")},
           {{"grad_output", kIn, kT, kNCHW, "R O pooled_height pooled_width", kCompute},
            {"rois", kIn, kT, kAnyLayout, "R 5", kCompute},
            {"grad_input", kOut, kT, kNCHW, "N O*pooled_height*pooled_width H W", kSkip}})};

constexpr const Operator* kOperators[] = {&kForward, &kBackward};

}  // namespace

extern constexpr Family kFamily = {"torchvision_ps_roi_pool", kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool

using namespace mluop;

mluOpStatus_t mluOpTorchvisionPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  return Execute(torchvision_ps_roi_pool::kForward, handle,
                 {pooled_height, pooled_width, spatial_scale},
                 {{input_desc, input}, {rois_desc, rois}, {output_desc, output}});
}

mluOpStatus_t mluOpTorchvisionPsRoiPoolBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const mluOpTensorDescriptor_t grad_output_desc,
    const void* grad_output, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input) {
  return Execute(
      torchvision_ps_roi_pool::kBackward, handle, {pooled_height, pooled_width, spatial_scale},
      {{grad_output_desc, grad_output}, {rois_desc, rois}, {grad_input_desc, grad_input}});
}
