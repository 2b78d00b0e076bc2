// SPDX-License-Identifier: Apache-2.0
#include "ops/masked_im2col/mask_table.h"

#include <algorithm>

namespace mluop::masked_im2col {
namespace {

// Masks that are worth a range of their own: some microseconds.
constexpr int64_t kGrain = 8192;

int64_t StepCount(int64_t masks, int64_t step) { return (masks + step - 1) / step; }

Step MakeStep(const Problem& p, const int32_t* top, const int32_t* left, int64_t count) {
  const auto [top_min, top_max] = std::minmax_element(top, top + count);
  const auto [left_min, left_max] = std::minmax_element(left, left + count);
  const bool inside = *top_min >= 0 && int64_t{*top_max} + p.kernel_h <= p.height &&
                      *left_min >= 0 && int64_t{*left_max} + p.kernel_w <= p.width;
  return {*top_min, *top_max, *left_min, *left_max, inside};
}

}  // namespace

size_t MaskTableBytes(int64_t masks, int64_t step) {
  return static_cast<size_t>(masks) * (sizeof(int64_t) + 2 * sizeof(int32_t)) +
         static_cast<size_t>(StepCount(masks, step)) * sizeof(Step);
}

MaskTable MakeMaskTable(const Problem& p, const int32_t* mask_h, const int32_t* mask_w,
                        int64_t step, void* memory, ThreadPool& threads) {
  MaskTable table;
  table.corner = static_cast<int64_t*>(memory);
  table.top = reinterpret_cast<int32_t*>(table.corner + p.masks);
  table.left = table.top + p.masks;
  table.steps = reinterpret_cast<Step*>(table.left + p.masks);
  table.step_count = StepCount(p.masks, step);
  table.step = step;
  threads.For(p.masks, kGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t m = begin; m < end; ++m) {
      table.top[m] = p.Top(mask_h[m]);
      table.left[m] = p.Left(mask_w[m]);
      table.corner[m] = int64_t{table.top[m]} * p.width + table.left[m];
    }
  });
  threads.For(table.step_count, kGrain / step, [&](int64_t begin, int64_t end, int) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t m = table.StepBegin(p.masks, s);
      table.steps[s] = MakeStep(p, table.top + m, table.left + m, std::min<int64_t>(step, p.masks));
    }
  });
  return table;
}

}  // namespace mluop::masked_im2col
