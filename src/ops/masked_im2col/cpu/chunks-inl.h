// SPDX-License-Identifier: Apache-2.0
// masked_im2col forward where a table of the masks does not pay: offsets are found for a chunk of a
// channel's rows and used for all channels. Included once per instruction set.

#if defined(MLUOP_OPS_MASKED_IM2COL_CPU_CHUNKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_MASKED_IM2COL_CPU_CHUNKS_INL_H_
#undef MLUOP_OPS_MASKED_IM2COL_CPU_CHUNKS_INL_H_
#else
#define MLUOP_OPS_MASKED_IM2COL_CPU_CHUNKS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "ops/masked_im2col/cpu/calls.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

// Offsets in a plane of elements [first, first + count) of a channel's row; -1 outside.
template <typename T>
void FindOffsets(const ForwardCall<T>& call, int64_t first, int64_t count, int64_t* offset) {
  const Problem p = call.p;
  const int64_t begin = first;
  while (first < begin + count) {
    const int64_t tap = first / p.masks;
    const int64_t down = tap / p.kernel_w - p.pad_h;
    const int64_t right = tap % p.kernel_w - p.pad_w;
    const int64_t end = std::min((tap + 1) * p.masks, begin + count);
    for (; first < end; ++first) {
      const int64_t m = first - tap * p.masks;
      offset[first - begin] = p.Offset(call.mask_h[m] + down, call.mask_w[m] + right);
    }
  }
}

// Without a table: a channel's part of data_col is one row of taps*M elements. Work items are
// chunks of it, each in every channel; the offsets of a chunk serve all channels of the range.
template <typename T>
void CopyChunks(const ForwardCall<T>& call, int64_t begin, int64_t end) {
  const Problem p = call.p;
  const int64_t row = p.taps() * p.masks;
  int64_t offset[kDirectChunk];
  int64_t chunk = -1;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item / p.channels * kDirectChunk;
    const int64_t count = std::min(kDirectChunk, row - first);
    if (item / p.channels != chunk) {
      chunk = item / p.channels;
      FindOffsets(call, first, count, offset);
    }
    const int64_t channel = item % p.channels;
    const T* plane = call.feature + channel * p.plane();
    T* to = call.data_col + channel * row + first;
    for (int64_t k = 0; k < count; ++k) to[k] = offset[k] < 0 ? T{} : plane[offset[k]];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_CHUNKS_INL_H_
