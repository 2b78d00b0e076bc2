// SPDX-License-Identifier: Apache-2.0
// psamask: tables and C entry points.
#include "core/operator.h"
#include "mluops/extensions.h"

namespace mluop::psamask {
namespace {

constexpr Operator MakeOperator(std::string_view name, const TensorRow& in, const TensorRow& out) {
  return {OpSpec(name, kFloat,
                 {InRange("psa_type", 0, 1), AtLeast("h_mask", 1), AtLeast("w_mask", 1)},
                 {in, out})};
}

constexpr Operator kForward =
    MakeOperator("psamask_forward", {"x", kIn, kT, kNHWC, "N H W h_mask*w_mask", kSkip},
                 {"y", kOut, kT, kNHWC, "N H W H*W", kSkip});
constexpr Operator kBackward =
    MakeOperator("psamask_backward", {"dy", kIn, kT, kNHWC, "N H W H*W", kSkip},
                 {"dx", kOut, kT, kNHWC, "N H W h_mask*w_mask", kSkip});
constexpr Operator kNchwForward =
    MakeOperator("psamask_nchw_forward", {"x", kIn, kT, kNCHW, "N h_mask*w_mask H W", kSkip},
                 {"y", kOut, kT, kNCHW, "N H*W H W", kSkip});
constexpr Operator kNchwBackward =
    MakeOperator("psamask_nchw_backward", {"dy", kIn, kT, kNCHW, "N H*W H W", kSkip},
                 {"dx", kOut, kT, kNCHW, "N h_mask*w_mask H W", kSkip});

constexpr const Operator* kOperators[] = {&kForward, &kBackward, &kNchwForward, &kNchwBackward};

}  // namespace

extern constexpr Family kFamily = {"psamask", kOperators, {}};

}  // namespace mluop::psamask

using namespace mluop;

// All four functions have the same types.
#define MLUOP_PSAMASK(function, table)                                                            \
  mluOpStatus_t function(mluOpHandle_t handle, const int psa_type,                                \
                         const mluOpTensorDescriptor_t in_desc, const void* in, const int h_mask, \
                         const int w_mask, const mluOpTensorDescriptor_t out_desc, void* out) {   \
    return Execute(psamask::table, handle, {psa_type, h_mask, w_mask},                            \
                   {{in_desc, in}, {out_desc, out}});                                             \
  }
MLUOP_PSAMASK(mluOpPsamaskForward, kForward)
MLUOP_PSAMASK(mluOpPsamaskBackward, kBackward)
MLUOP_PSAMASK(mluOpPsamaskNchwForward, kNchwForward)
MLUOP_PSAMASK(mluOpPsamaskNchwBackward, kNchwBackward)
#undef MLUOP_PSAMASK
