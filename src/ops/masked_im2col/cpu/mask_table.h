// SPDX-License-Identifier: Apache-2.0
// The masks of an im2col call as the CPU kernels read them: where each one's kernel lies, and for
// every `step` masks in a row, which are processed together, a box around their corners.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/thread_pool.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

struct Step {
  int32_t top_min, top_max;
  int32_t left_min, left_max;
  int64_t low, high;  // of their offsets in a plane
  bool inside;        // all kernel elements of all its masks are inside the feature
};

struct MaskTable {
  int64_t* corner = nullptr;  // [M] top*W + left, the kernel's upper left corner in a plane
  int32_t* top = nullptr;     // [M]
  int32_t* left = nullptr;    // [M]
  Step* steps = nullptr;      // [step_count]
  int64_t step_count = 0;
  int64_t step = 0;

  // The first mask of step s. The last step starts where it ends with M, over masks of the one
  // before, so that every step is whole; only with M < step there is a shorter one.
  int64_t StepBegin(int64_t masks, int64_t s) const {
    const int64_t last = masks < step ? 0 : masks - step;
    return s * step < last ? s * step : last;
  }
};

size_t MaskTableBytes(int64_t masks, int64_t step);
MaskTable MakeMaskTable(const Problem& p, const int32_t* mask_h, const int32_t* mask_w,
                        int64_t step, void* memory, ThreadPool& threads);

}  // namespace mluop::masked_im2col
