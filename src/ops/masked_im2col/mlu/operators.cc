// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward on the MLU, host side: the four steps of document 004 (3.1) and their
// workspace (3.4).
#include <algorithm>
#include <limits>

#include "mlu/context.h"
#include "ops/masked_im2col/mlu/kernels.h"
#include "ops/masked_im2col/problem.h"
#include "ops/roi/mlu/refusal.h"
#include "ops/roi/mlu/union1.h"

namespace mluop::masked_im2col {
namespace {

using Im2colCall = MluCall<Problem>;

size_t FeatureBytes(const Arguments& a) { return a.Tensor("feature").ByteCount(); }
size_t DataColBytes(const Arguments& a) { return a.Tensor("data_col").ByteCount(); }

// Document 004, 3.4: as much as feature and data_col. The transposes need no more.
size_t WorkspaceBytes(const Arguments& a) { return FeatureBytes(a) + DataColBytes(a); }
size_t Scratch(const Im2colCall& call) { return WorkspaceBytes(call.arguments); }

// The strides of a 2D copy are int32, in bytes.
mluOpStatus_t RefuseStrides(const Im2colCall& call) {
  const Problem& p = call.p;
  const int64_t element = call.arguments.Type() == MLUOP_DTYPE_HALF ? 2 : 4;
  const int64_t longest = std::max({p.plane(), p.width * int64_t{p.channels}, p.taps() * p.channels,
                                    p.taps() * p.masks, p.kernel_w * int64_t{p.channels}});
  const long long bytes = longest * element;
  if (bytes <= std::numeric_limits<int32_t>::max()) return MLUOP_STATUS_SUCCESS;
  return Fail(MLUOP_STATUS_NOT_SUPPORTED,
              "%.*s: a row of feature or data_col must have fewer than 2^31 bytes (the stride "
              "of a 2D copy), got %lld",
              MLUOP_SV(call.arguments.spec->name), bytes);
}

mluOpStatus_t Run(const Im2colCall& call, void* scratch) {
  const Problem& p = call.p;
  const Arguments& a = call.arguments;
  const auto plane = static_cast<size_t>(p.plane()), taps = static_cast<size_t>(p.taps());
  const auto channels = static_cast<size_t>(p.channels), masks = static_cast<size_t>(p.masks);
  char* const feature = static_cast<char*>(scratch);
  char* const data_col = feature + FeatureBytes(a);
  const LaunchConfig launch = roi::PolicyUnion1(call.context);
  const Im2colKernels& kernels = KernelsOf(a.Type() == MLUOP_DTYPE_HALF);

  const TransposeParam to_nhwc = {1, p.channels, static_cast<int>(plane), 0, plane, 0, channels};
  kernels.transpose(launch, to_nhwc, a.In<void>("feature"), feature);
  kernels.fill(launch, data_col, DataColBytes(a));
  const MaskedIm2colParam param = {p.channels, p.height,   p.width, p.masks,
                                   p.kernel_h, p.kernel_w, p.pad_h, p.pad_w};
  kernels.im2col(launch, param,
                 {feature, a.In<int>("mask_h_idx"), a.In<int>("mask_w_idx"), data_col});
  const TransposeParam to_columns = {static_cast<int>(taps), p.masks, p.channels,  channels,
                                     taps * channels,        masks,   taps * masks};
  kernels.transpose(launch, to_columns, data_col, a.Out<void>("data_col"));
  return MLUOP_STATUS_SUCCESS;
}

void Describe(const Im2colCall& call, Plan& plan) {
  plan.Add("task type Union1, %d clusters", call.context.properties().cluster_limit);
  plan.Add("split over cores masks");
  plan.Add("NRAM %d bytes, for the transposes", 2 * kTileSize * kTileSize * 4);
}

constexpr MluImplementation<Problem> kForward[] = {
    {"union1", "always", Always, Scratch, Run, Describe}};
constexpr MluOperator kForwardMlu =
    roi::BindRefusing<MakeProblem, kForward, RefuseStrides>("masked_im2col_forward");
constexpr const MluOperator* kOperators[] = {&kForwardMlu};
constexpr DeviceGetter kGetters[] = {{"masked_im2col_forward_workspace", WorkspaceBytes}};

}  // namespace

extern const MluFamily kMluFamily;
constexpr MluFamily kMluFamily = {kOperators, kGetters};

}  // namespace mluop::masked_im2col
