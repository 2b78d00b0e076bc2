// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on the CPU: a gather. A mask that forward overwrote has no gradient, so the
// last mask of every pixel is found first, once for all channels.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

// to[c][m] = from[c][offset[m]], bit for bit; 0 where the offset is negative.
template <typename T>
void GatherRows(const CpuCall<Problem>& call, const int64_t* offset) {
  const Problem& p = call.p;
  const T* const from = call.arguments.In<T>("grad_im");
  T* const to = call.arguments.Out<T>("grad_col");
  const int64_t grain = std::max<int64_t>(kGrain / p.masks, 1);
  call.context.threads().For(p.channels, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const T* const plane = from + channel * p.plane();
      T* const row = to + channel * p.masks;
      for (int64_t m = 0; m < p.masks; ++m) row[m] = offset[m] < 0 ? T{0} : plane[offset[m]];
    }
  });
}

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
  IsHalf(call.arguments) ? GatherRows<uint16_t>(call, offset) : GatherRows<uint32_t>(call, offset);
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kCol2imBackward[] = {
    {"gather", "always", Always, GatherScratch, RunGather},
};

}  // namespace

constexpr CpuOperator kCol2imBackwardCpu =
    Bind<MakeProblem, kCol2imBackward>("masked_col2im_backward");

}  // namespace mluop::masked_im2col
