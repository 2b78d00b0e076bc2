// SPDX-License-Identifier: Apache-2.0
// The operators of tests that need any operator: only this file names them.
#pragma once

#include "mlu_op.h"

namespace mluop::testing {

// A copy: x [N,H,W,h_mask*w_mask] to y [N,H,W,H*W], with the attributes psa_type (0 or 1), h_mask and
// w_mask.
inline constexpr const char* kExampleFamily = "psamask";
inline constexpr const char* kExampleOperator = "psamask_forward";
inline constexpr const char* kExampleLine =
    "psamask_forward N=2 H=3 W=4 psa_type=0 h_mask=3 w_mask=5";
inline constexpr auto* RunExample = mluOpPsamaskForward;

// Takes half, and attributes of any int32.
inline constexpr const char* kPadsOperator = "masked_im2col_forward";
inline constexpr const char* kPadsLine =
    "masked_im2col_forward C=2 H=3 W=4 M=5 kernel_h=2 kernel_w=3 pad_h=-1 pad_w=0";

// Runs for about 0.1 s on one thread: 5 million samples of 4 channels.
inline constexpr const char* kLongOperator = "border_align_forward";
inline constexpr const char* kLongLine =
    "border_align_forward N=1 H=40 W=40 K=64 C=4 pool_size=20000";

// Each case is large enough for several threads, and has one output.
inline constexpr const char* kParallelLines[] = {
    "psamask_forward N=2 H=20 W=21 psa_type=0 h_mask=23 w_mask=19",
    "psamask_forward N=2 H=20 W=21 psa_type=1 h_mask=23 w_mask=19",
    "psamask_backward N=2 H=20 W=21 psa_type=1 h_mask=23 w_mask=19",
    "masked_im2col_forward C=60 H=21 W=20 M=203 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
    "masked_im2col_backward C=60 H=21 W=20 M=203 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 dtype=half",
    "masked_col2im_forward C=200 H=21 W=20 M=203 dtype=half",
};
inline constexpr const char* kParallelLine = kParallelLines[0];

}  // namespace mluop::testing
