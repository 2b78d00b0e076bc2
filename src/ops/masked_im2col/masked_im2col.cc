// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::masked_im2col {
namespace {

constexpr TensorRow kFeature = {"feature", kIn, kT, kNCHW, "1 C H W", kReject};
constexpr TensorRow kMaskH = {"mask_h_idx", kIn, kI32, kAnyLayout, "M", kSkip};
constexpr TensorRow kMaskW = {"mask_w_idx", kIn, kI32, kAnyLayout, "M", kSkip};
constexpr TensorRow kDataCol = {"data_col", kOut, kT, kAnyLayout, "C*kernel_h*kernel_w M", kSkip};

constexpr Operator kForward = {OpSpec("masked_im2col_forward", kHalfOrFloat,
                                      {AtLeast("kernel_h", 1), AtLeast("kernel_w", 1),
                                       AnyInteger("pad_h"), AnyInteger("pad_w")},
                                      {kFeature, kMaskH, kMaskW, kDataCol}),
                               "M"};

constexpr OpSpec kForwardWorkspace("masked_im2col_forward_workspace", kHalfOrFloat,
                                   {AtLeast("kernel_h", 1), AtLeast("kernel_w", 1)},
                                   {kFeature, kMaskH, kMaskW, kDataCol});

// With M = 0 the gradient is zero and is written, so that the caller never reads uninitialised
// memory.
constexpr Operator kBackward = {OpSpec(
    "masked_im2col_backward", kHalfOrFloat,
    {AtLeast("kernel_h", 1), AtLeast("kernel_w", 1), AnyInteger("pad_h"), AnyInteger("pad_w")},
    {{"grad_col", kIn, kT, kAnyLayout, "C*kernel_h*kernel_w M", kCompute},
     {"mask_h_idx", kIn, kI32, kAnyLayout, "M", kCompute},
     {"mask_w_idx", kIn, kI32, kAnyLayout, "M", kCompute},
     {"grad_feature", kOut, kT, kNCHW, "1 C H W", kReject}})};

constexpr Operator kCol2im = {OpSpec("masked_col2im_forward", kHalfOrFloat, {},
                                     {{"col", kIn, kT, kAnyLayout, "C M", kCompute},
                                      {"mask_h_idx", kIn, kI32, kAnyLayout, "M", kCompute},
                                      {"mask_w_idx", kIn, kI32, kAnyLayout, "M", kCompute},
                                      {"im", kOut, kT, kNCHW, "1 C H W", kReject}})};

constexpr Operator kCol2imBackward = {OpSpec("masked_col2im_backward", kHalfOrFloat, {},
                                             {{"grad_im", kIn, kT, kNCHW, "1 C H W", kReject},
                                              kMaskH,
                                              kMaskW,
                                              {"grad_col", kOut, kT, kAnyLayout, "C M", kSkip}})};

constexpr OpSpec kCol2imWorkspace("masked_col2im_forward_workspace", kHalfOrFloat, {},
                                  {{"col", kIn, kT, kAnyLayout, "C M", kSkip},
                                   kMaskH,
                                   kMaskW,
                                   {"im", kOut, kT, kNCHW, "1 C H W", kReject}});

constexpr const Operator* kOperators[] = {&kForward, &kBackward, &kCol2im, &kCol2imBackward};
constexpr const OpSpec* kGetters[] = {&kForwardWorkspace, &kCol2imWorkspace};

}  // namespace

extern constexpr Family kFamily = {"masked_im2col", kOperators, kGetters};

}  // namespace mluop::masked_im2col

using namespace mluop;

mluOpStatus_t mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc,
    size_t* workspace_size) {
  return GetWorkspaceSize(handle,
                          {masked_im2col::kForwardWorkspace,
                           {kernel_h, kernel_w},
                           {feature_desc, mask_h_idx_desc, mask_w_idx_desc, data_col_desc}},
                          workspace_size);
}

mluOpStatus_t mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void* feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void* data_col) {
  return Execute(masked_im2col::kForward, handle, {kernel_h, kernel_w, pad_h, pad_w},
                 {{feature_desc, feature},
                  {mask_h_idx_desc, mask_h_idx},
                  {mask_w_idx_desc, mask_w_idx},
                  {data_col_desc, data_col}},
                 {workspace, workspace_size});
}

mluOpStatus_t mluOpMaskedIm2colBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_col_desc, const void* grad_col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_feature_desc,
    void* grad_feature) {
  return Execute(masked_im2col::kBackward, handle, {kernel_h, kernel_w, pad_h, pad_w},
                 {{grad_col_desc, grad_col},
                  {mask_h_idx_desc, mask_h_idx},
                  {mask_w_idx_desc, mask_w_idx},
                  {grad_feature_desc, grad_feature}},
                 {workspace, workspace_size});
}

mluOpStatus_t mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const mluOpTensorDescriptor_t im_desc, size_t* workspace_size) {
  return GetWorkspaceSize(
      handle,
      {masked_im2col::kCol2imWorkspace, {}, {col_desc, mask_h_idx_desc, mask_w_idx_desc, im_desc}},
      workspace_size);
}

mluOpStatus_t mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void* col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx,
    const size_t workspace_size, void* workspace, const mluOpTensorDescriptor_t im_desc, void* im) {
  return Execute(masked_im2col::kCol2im, handle, {},
                 {{col_desc, col},
                  {mask_h_idx_desc, mask_h_idx},
                  {mask_w_idx_desc, mask_w_idx},
                  {im_desc, im}},
                 {workspace, workspace_size});
}

mluOpStatus_t mluOpMaskedCol2imBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_im_desc, const void* grad_im,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx,
    const mluOpTensorDescriptor_t grad_col_desc, void* grad_col) {
  return Execute(masked_im2col::kCol2imBackward, handle, {},
                 {{grad_im_desc, grad_im},
                  {mask_h_idx_desc, mask_h_idx},
                  {mask_w_idx_desc, mask_w_idx},
                  {grad_col_desc, grad_col}},
                 {});
}
