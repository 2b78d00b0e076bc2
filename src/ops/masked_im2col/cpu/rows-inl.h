// SPDX-License-Identifier: Apache-2.0
// Rows written with non-temporal stores. Included once per instruction set.

#if defined(MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_
#undef MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_
#else
#define MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/scratch.h"
#include "cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

// Copies a row with non-temporal stores; FlushStream() before another thread may read it. The ends
// of the row share their cache lines with its neighbours and go through the caches: a line written
// by both kinds of stores is slow (C256 100x152 M3997 k3 with AVX2: 8.9x floor instead of 1.7x).
template <typename T>
HWY_INLINE void StreamRow(const T* HWY_RESTRICT from, int64_t n, T* HWY_RESTRICT to) {
  constexpr int64_t kLine = kAlignment / sizeof(T);
  const hn::CappedTag<T, kLine> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kAlignment / sizeof(T));
  const int64_t head = std::min(n, past == 0 ? 0 : kLine - past);
  const int64_t tail = head + (n - head) / kLine * kLine;
  simd::CopyRow(from, head, to);
  for (int64_t i = head; i < tail; i += step) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  simd::CopyRow(from + tail, n - tail, to + tail);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_
