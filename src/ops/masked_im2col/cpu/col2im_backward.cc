// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on the CPU: a gather. A mask that forward overwrote has no gradient, so the
// last mask of every pixel is found first, once for all channels.
#include <algorithm>
#include <span>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/mask_table.h"
#include "ops/masked_im2col/cpu/operators.h"

namespace mluop::masked_im2col {
namespace {

// Scratch: the pixel of each mask, the masks without a gradient, and the last mask of each pixel.
size_t GatherScratch(const CpuCall<Problem>& call) {
  return static_cast<size_t>(call.p.masks) * (sizeof(int64_t) + sizeof(int32_t)) +
         static_cast<size_t>(call.p.plane()) * sizeof(int32_t);
}

// A mask without a gradient reads pixel 0, and is zeroed afterwards: a branch would be unpredictable
// with random masks.
template <typename T>
void GatherRows(const CpuCall<Problem>& call, const int64_t* pixel,
                std::span<const int32_t> zero_masks) {
  const Problem& p = call.p;
  const T* const from = call.arguments.In<T>("grad_im");
  T* const to = call.arguments.Out<T>("grad_col");
  const int64_t grain = std::max<int64_t>(kGrain / p.masks, 1);
  call.context.threads().For(p.channels, grain, [=](int64_t begin, int64_t end, int) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const T* const plane = from + channel * p.plane();
      T* const row = to + channel * p.masks;
      for (int64_t m = 0; m < p.masks; ++m) row[m] = plane[pixel[m]];
      for (const int32_t m : zero_masks) row[m] = 0;
    }
  });
}

mluOpStatus_t RunGather(const CpuCall<Problem>& call, void* scratch) {
  const Problem& p = call.p;
  const MaskIndices masks = MasksOf(call.arguments);
  auto* const pixel = static_cast<int64_t*>(scratch);
  auto* const zero_masks = reinterpret_cast<int32_t*>(pixel + p.masks);
  auto* const last = zero_masks + p.masks;  // only the pixels of masks are written and read
  for (int32_t m = 0; m < p.masks; ++m) {
    pixel[m] = p.Offset(masks.h[m], masks.w[m]);
    if (pixel[m] >= 0) last[pixel[m]] = m;
  }
  size_t count = 0;
  for (int32_t m = 0; m < p.masks; ++m) {
    if (pixel[m] >= 0 && last[pixel[m]] == m) continue;
    pixel[m] = 0;
    zero_masks[count++] = m;
  }
  switch (call.arguments.Type()) {
    case MLUOP_DTYPE_HALF: GatherRows<uint16_t>(call, pixel, {zero_masks, count}); break;
    case MLUOP_DTYPE_FLOAT: GatherRows<uint32_t>(call, pixel, {zero_masks, count}); break;
    default: GatherRows<uint64_t>(call, pixel, {zero_masks, count}); break;  // double
  }
  return MLUOP_STATUS_SUCCESS;
}

constexpr CpuImplementation<Problem> kCol2imBackward[] = {
    {"gather", "always", Always, GatherScratch, RunGather},
    CpuImplementation<Problem>::ForDouble(RunGather, GatherScratch),
};

}  // namespace

constexpr CpuOperator kCol2imBackwardCpu =
    Bind<MakeProblem, kCol2imBackward>("masked_col2im_backward");

}  // namespace mluop::masked_im2col
