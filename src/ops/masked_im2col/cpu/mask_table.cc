// SPDX-License-Identifier: Apache-2.0
#include "ops/masked_im2col/cpu/mask_table.h"
#include "cpu/tuning.h"

#include <algorithm>

namespace mluop::masked_im2col {
namespace {

int64_t StepCount(int64_t masks, int64_t step) { return (masks + step - 1) / step; }

void Include(Step& step, int32_t top, int32_t left, int64_t corner) {
  step.low = std::min(step.low, corner);
  step.high = std::max(step.high, corner);
  step.top_min = std::min(step.top_min, top);
  step.top_max = std::max(step.top_max, top);
  step.left_min = std::min(step.left_min, left);
  step.left_max = std::max(step.left_max, left);
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
  threads.For(table.step_count, kGrain / step, [&](int64_t begin, int64_t end, int) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t first = s * step;
      Step box = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, false};
      // A last step's masks that belong to the one before.
      for (int64_t m = table.StepBegin(p.masks, s); m < first; ++m) {
        const int32_t top = p.Top(mask_h[m]), left = p.Left(mask_w[m]);
        Include(box, top, left, int64_t{top} * p.width + left);
      }
      const int64_t last = std::min<int64_t>(first + step, p.masks);
      for (int64_t m = first; m < last; ++m) {
        table.top[m] = p.Top(mask_h[m]);
        table.left[m] = p.Left(mask_w[m]);
        table.corner[m] = int64_t{table.top[m]} * p.width + table.left[m];
        Include(box, table.top[m], table.left[m], table.corner[m]);
      }
      box.inside = box.top_min >= 0 && int64_t{box.top_max} + p.kernel_h <= p.height &&
                   box.left_min >= 0 && int64_t{box.left_max} + p.kernel_w <= p.width;
      table.steps[s] = box;
    }
  });
  return table;
}

}  // namespace mluop::masked_im2col
