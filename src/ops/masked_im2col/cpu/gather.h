// SPDX-License-Identifier: Apache-2.0
// Rows gathered element by element, bit for bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/masked_im2col/problem.h"

namespace mluop::masked_im2col {

// to[c][k] = from[c][offset[k]] for all channels and k < count; 0 where the offset is negative. from
// has planes of H*W elements.
template <typename T>
void GatherRows(const CpuCall<Problem>& call, const T* from, const int64_t* offset, int64_t count,
                T* to) {
  const Problem& p = call.p;
  call.context.threads().For(p.channels * count, kGrain, [&](int64_t begin, int64_t end, int) {
    while (begin < end) {
      const int64_t channel = begin / count;
      const T* const plane = from + channel * p.plane();
      const int64_t* const at = offset - channel * count;
      const int64_t row_end = std::min(end, (channel + 1) * count);
      for (; begin < row_end; ++begin) to[begin] = at[begin] < 0 ? T{0} : plane[at[begin]];
    }
  });
}

inline bool IsHalf(const Arguments& a) { return a.Type() == MLUOP_DTYPE_HALF; }

inline void GatherRows(const CpuCall<Problem>& call, const char* from, const int64_t* offset,
                       int64_t count, const char* to) {
  const Arguments& a = call.arguments;
  IsHalf(a) ? GatherRows(call, a.In<uint16_t>(from), offset, count, a.Out<uint16_t>(to))
            : GatherRows(call, a.In<uint32_t>(from), offset, count, a.Out<uint32_t>(to));
}

}  // namespace mluop::masked_im2col
