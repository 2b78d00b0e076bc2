// SPDX-License-Identifier: Apache-2.0
// masked_col2im backward on the CPU: a gather. What forward overwrote has no gradient, so the masks
// that won their pixels are found once, for all channels.
#include <algorithm>

#include "cpu/tuning.h"
#include "ops/masked_im2col/cpu/operators.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {
namespace {

// offset[m]: mask m's pixel in a plane, or -1 where it is outside or a later mask has it. Of
// `winner` only the pixels that masks name are used.
void FindOffsets(const Problem& p, const int32_t* mask_h, const int32_t* mask_w, int32_t* winner,
                 int32_t* offset) {
  for (int32_t m = 0; m < p.masks; ++m) {
    offset[m] = static_cast<int32_t>(p.Offset(mask_h[m], mask_w[m]));
    if (offset[m] >= 0) winner[offset[m]] = m;
  }
  for (int32_t m = 0; m < p.masks; ++m) {
    if (offset[m] >= 0 && winner[offset[m]] != m) offset[m] = -1;
  }
}

// T: of the element's size; bits are copied.
template <typename T>
void Gather(const Arguments& arguments, CpuContext& context) {
  const Problem p = MakeProblem(arguments);
  const T* const grad_im = arguments.In<T>("grad_im");
  T* const grad_col = arguments.Out<T>("grad_col");
  auto* const offset = static_cast<int32_t*>(
      context.Scratch(static_cast<size_t>(p.masks + p.plane()) * sizeof(int32_t)));
  FindOffsets(p, arguments.In<int32_t>("mask_h_idx"), arguments.In<int32_t>("mask_w_idx"),
              offset + p.masks, offset);
  const int64_t grain = std::max<int64_t>(kGrain / p.masks, 1);
  context.threads().For(p.channels, grain, [=](int64_t begin, int64_t end, int) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const T* const from = grad_im + channel * p.plane();
      T* const to = grad_col + channel * p.masks;
      for (int64_t m = 0; m < p.masks; ++m) to[m] = offset[m] < 0 ? T{} : from[offset[m]];
    }
  });
}

}  // namespace

mluOpStatus_t Col2imBackwardCpu(const Arguments& arguments, CpuContext& context) {
  arguments.Type() == MLUOP_DTYPE_FLOAT ? Gather<uint32_t>(arguments, context)
                                        : Gather<uint16_t>(arguments, context);
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::masked_im2col
