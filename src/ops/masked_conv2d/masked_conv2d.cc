// SPDX-License-Identifier: Apache-2.0
// masked_conv2d: table and C entry point.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::masked_conv2d {
namespace {

constexpr Operator kForward = {
    OpSpec("masked_conv2d_forward", kHalfOrFloat,
           {AtLeast("kernel_h", 1), AtLeast("kernel_w", 1), AtLeast("stride_h", 1),
            AtLeast("stride_w", 1), AtLeast("pad_h", 0), AtLeast("pad_w", 0),
            AtLeast("dilation_h", 1), AtLeast("dilation_w", 1)},
           {{"features", kIn, kT, kNCHW, "N C H W", kSkipRows},
            {"mask", kIn, kT, kAnyLayout, "N P Q", kSkip},
            {"weight", kIn, kT, kNCHW, "O C kernel_h kernel_w", kReject},
            {"bias", kIn, kT, kAnyLayout, "O", kReject},
            {"output", kOut, kT, kNCHW, "N O P Q", kSkip}}),
    "N"};

constexpr const Operator* kOperators[] = {&kForward};

}  // namespace

extern constexpr Family kFamily = {"masked_conv2d", kOperators, {}};

}  // namespace mluop::masked_conv2d

using namespace mluop;

mluOpStatus_t mluOpMaskedConv2dForward(mluOpHandle_t handle, const int kernel_h, const int kernel_w,
                                       const int stride_h, const int stride_w, const int pad_h,
                                       const int pad_w, const int dilation_h, const int dilation_w,
                                       const mluOpTensorDescriptor_t features_desc,
                                       const void* features,
                                       const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                       const mluOpTensorDescriptor_t weight_desc,
                                       const void* weight, const mluOpTensorDescriptor_t bias_desc,
                                       const void* bias, const mluOpTensorDescriptor_t output_desc,
                                       void* output) {
  return Execute(masked_conv2d::kForward, handle,
                 {kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w},
                 {{features_desc, features},
                  {mask_desc, mask},
                  {weight_desc, weight},
                  {bias_desc, bias},
                  {output_desc, output}});
}
