// SPDX-License-Identifier: Apache-2.0
// Builds the mask table of mask_table.h.
#include "ops/masked_im2col/cpu/mask_table.h"

#include "cpu/tuning.h"

namespace mluop::masked_im2col {
namespace {

constexpr int64_t kMaxStep = 32;

// bits[i], i < kernel: bit k says whether 0 <= first[k] + i < size. Returns whether all are set.
bool FillBits(const int32_t* first, int64_t count, int64_t kernel, int64_t size, uint32_t* bits) {
  std::fill_n(bits, kernel, ~0u >> (kMaxStep - count));
  bool inside = true;
  for (int64_t k = 0; k < count; ++k) {
    if (first[k] >= 0 && first[k] + kernel <= size) continue;
    inside = false;
    for (int64_t i = 0; i < kernel; ++i) {
      const int64_t at = first[k] + i;
      if (at < 0 || at >= size) bits[i] &= ~(1u << k);
    }
  }
  return inside;
}

void FillStep(const Problem& p, const MaskIndices& masks, const MaskTable& table, int64_t s) {
  const int64_t first = table.StepBegin(s);
  const int64_t count = std::min(table.step, table.masks);
  int32_t top[kMaxStep], left[kMaxStep];
  int64_t corner[kMaxStep];
  MaskStep step = {INT64_MAX, INT64_MIN, false, false};
  for (int64_t k = 0; k < count; ++k) {
    top[k] = p.Top(masks.h[first + k]);
    left[k] = p.Left(masks.w[first + k]);
    corner[k] = static_cast<int64_t>(top[k]) * p.width + left[k];
    step.low = std::min(step.low, corner[k]);
    step.high = std::max(step.high, corner[k]);
  }
  for (int64_t k = 0; k < count; ++k) {
    table.places[s * table.step + k] = static_cast<uint16_t>(corner[k] - step.low);
    // Another thread may write the corners of the step before.
    if (first + k >= s * table.step) table.corner[first + k] = corner[k];
  }
  step.rows_inside = FillBits(top, count, p.kernel_h, p.height, table.rows + s * p.kernel_h);
  step.columns_inside = FillBits(left, count, p.kernel_w, p.width, table.columns + s * p.kernel_w);
  table.steps[s] = step;
}

}  // namespace

size_t MaskTableBytes(const Problem& p, int64_t step) {
  const auto masks = static_cast<size_t>(p.masks), steps = (masks + step - 1) / step;
  const auto words = static_cast<size_t>(int64_t{p.kernel_h} + p.kernel_w);
  return masks * sizeof(int64_t) +
         steps * (sizeof(MaskStep) + words * sizeof(uint32_t) + step * sizeof(uint16_t));
}

MaskTable MakeMaskTable(const Problem& p, const MaskIndices& masks, int64_t step, void* memory,
                        ThreadPool& threads) {
  const int64_t steps = (p.masks + step - 1) / step;
  auto* const corner = static_cast<int64_t*>(memory);
  auto* const mask_steps = reinterpret_cast<MaskStep*>(corner + p.masks);
  auto* const rows = reinterpret_cast<uint32_t*>(mask_steps + steps);
  uint32_t* const columns = rows + steps * p.kernel_h;
  auto* const places = reinterpret_cast<uint16_t*>(columns + steps * p.kernel_w);
  const MaskTable table = {corner,  mask_steps, rows,       columns,   places,
                           p.masks, step,       p.kernel_h, p.kernel_w};
  const int64_t work = step * (int64_t{p.kernel_h} + p.kernel_w);
  threads.ForEach(steps, kGrain / work + 1, [&](int64_t s, int) { FillStep(p, masks, table, s); });
  return table;
}

}  // namespace mluop::masked_im2col
