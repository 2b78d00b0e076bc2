// SPDX-License-Identifier: Apache-2.0
// The masks of an im2col call as the CPU kernels read them, made once per call. Masks are processed in
// steps of up to 32. For every step the table stores the range of its corners and, as bits, which
// kernel rows and columns of which masks are inside the feature.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/thread_pool.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

struct MaskStep {
  int64_t low, high;  // the least and the greatest corner
  // All kernel rows, all kernel columns of all masks are inside the feature.
  bool rows_inside, columns_inside;

  bool inside() const { return rows_inside && columns_inside; }
};

struct MaskTable {
  int64_t* corner;    // [masks] top*W + left: the kernel's upper left corner in a plane
  MaskStep* steps;    // [steps]
  uint32_t* rows;     // [steps][kernel_h] bit k: the row of the step's mask k is inside
  uint32_t* columns;  // [steps][kernel_w] the same for columns
  uint16_t* places;   // [steps][step] a corner's distance from low, modulo 2^16
  int64_t masks, step, kernel_h, kernel_w;

  // The last step ends with the last mask and overlaps the step before, so that every step is whole;
  // only with fewer masks than a step there is a shorter one.
  int64_t StepBegin(int64_t s) const {
    return std::max<int64_t>(0, std::min(s * step, masks - step));
  }
  // Bit k: element (i, j) of the step's mask k is inside the feature.
  uint32_t Inside(int64_t s, int64_t i, int64_t j) const {
    return rows[s * kernel_h + i] & columns[s * kernel_w + j];
  }
};

inline bool IsHalf(const Arguments& a) { return a.Type() == MLUOP_DTYPE_HALF; }

struct MaskIndices {
  const int32_t* h;
  const int32_t* w;
};
inline MaskIndices MasksOf(const Arguments& a) {
  return {a.In<int32_t>("mask_h_idx"), a.In<int32_t>("mask_w_idx")};
}

size_t MaskTableBytes(const Problem& p, int64_t step);
MaskTable MakeMaskTable(const Problem& p, const MaskIndices& masks, int64_t step, void* memory,
                        ThreadPool& threads);

}  // namespace mluop::masked_im2col
