// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on the CPU: a gather. A mask that forward overwrote has no gradient, so the
// last mask of every pixel is found first, once for all channels.
#include "ops/masked_im2col/cpu/gather.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

// Scratch: int64_t offset[masks], int32_t last[H*W].
size_t GatherScratch(const CpuCall<Problem>& call) {
  return static_cast<size_t>(call.p.masks) * sizeof(int64_t) +
         static_cast<size_t>(call.p.plane()) * sizeof(int32_t);
}

mluOpStatus_t RunGather(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  auto* const offset = static_cast<int64_t*>(scratch);
  // Only the pixels of masks are written and read.
  auto* const last = reinterpret_cast<int32_t*>(offset + p.masks);
  for (int32_t m = 0; m < p.masks; ++m) {
    offset[m] = p.Offset(masks.h[m], masks.w[m]);
    if (offset[m] >= 0) last[offset[m]] = m;
  }
  for (int32_t m = 0; m < p.masks; ++m) {
    if (offset[m] >= 0 && last[offset[m]] != m) offset[m] = -1;
  }
  GatherRows(call, "grad_im", offset, p.masks, "grad_col");
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kCol2imBackward[] = {
    {"gather", "always", Always, GatherScratch, RunGather},
};

}  // namespace

constexpr CpuOperator kCol2imBackwardCpu =
    Bind<MakeProblem, kCol2imBackward>("masked_col2im_backward");

}  // namespace mluop::masked_im2col
