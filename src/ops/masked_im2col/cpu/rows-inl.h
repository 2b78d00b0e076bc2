// SPDX-License-Identifier: Apache-2.0
// Vector pieces that the family's kernels share: rows written through or past the caches, and
// transposes of a few rows. Included once per instruction set.

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

// Writes value(d, i) at to + i for i in [0, n), past the caches but for the ends of the row, which
// share a cache line with what others write. FlushStream() before another thread may read it.
// Whole lines only: a line of which a part is written past the caches and a part through them costs
// many times either (C256 100x152 M3997 k3 with AVX2: 8.9 instead of 1.7 x floor).
template <typename T, class Value>
HWY_INLINE void StreamRow(T* to, int64_t n, const Value& value) {
  constexpr int64_t kLine = kAlignment / sizeof(T);
  const hn::CappedTag<T, kLine> d;
  const hn::CappedTag<T, 1> one;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kAlignment / sizeof(T));
  const int64_t head = std::min(n, past == 0 ? 0 : kLine - past);
  const int64_t tail = head + (n - head) / kLine * kLine;
  int64_t i = 0;
  for (; i < head; ++i) hn::StoreU(value(one, i), one, to + i);
  for (; i < tail; i += step) hn::Stream(value(d, i), d, to + i);
  for (; i < n; ++i) hn::StoreU(value(one, i), one, to + i);
}

template <typename T>
HWY_INLINE void WriteRow(const T* HWY_RESTRICT from, int64_t n, T* HWY_RESTRICT to, bool stream) {
  if (!stream) return mluop::HWY_NAMESPACE::CopyRow(from, n, to);
  StreamRow(to, n, [&](auto d, int64_t i) { return hn::LoadU(d, from + i); });
}

template <typename T>
HWY_INLINE void WriteZeros(T* to, int64_t n, bool stream) {
  if (!stream) return mluop::HWY_NAMESPACE::ZeroRow(to, n);
  StreamRow(to, n, [](auto d, int64_t) { return hn::Zero(d); });
}

#if HWY_TARGET != HWY_SCALAR

// In every 16-byte block, of four rows of four elements: store(k, v) gets element k of each row,
// for k < kCount. row(r) gives row r.
template <int kCount, class D, class Row, class Store>
HWY_INLINE void Transpose4(D d, const Row& row, const Store& store) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto in0 = row(0);
  const auto in1 = row(1);
  const auto in2 = row(2);
  const auto in3 = row(3);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, in0, in1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, in2, in3));
  store(0, hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)));
  if constexpr (kCount > 1) store(1, hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)));
  if constexpr (kCount > 2) {
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, in0, in1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, in2, in3));
    store(2, hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)));
    if constexpr (kCount > 3) store(3, hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)));
  }
}

// The same with the first four elements of eight rows of 16 bits.
template <int kCount, class D, class Row, class Store>
HWY_INLINE void Transpose8(D d, const Row& row, const Store& store) {
  const hn::Repartition<uint32_t, D> pairs;
  const auto zip = [&](int r) {
    return hn::BitCast(pairs, hn::InterleaveLower(d, row(r), row(r + 1)));
  };
  const auto in0 = zip(0);
  const auto in2 = zip(2);
  const auto in4 = zip(4);
  const auto in6 = zip(6);
  const hn::Repartition<uint64_t, D> quads;
  const auto low0 = hn::BitCast(quads, hn::InterleaveLower(pairs, in0, in2));
  const auto low4 = hn::BitCast(quads, hn::InterleaveLower(pairs, in4, in6));
  store(0, hn::BitCast(d, hn::InterleaveLower(quads, low0, low4)));
  if constexpr (kCount > 1) store(1, hn::BitCast(d, hn::InterleaveUpper(quads, low0, low4)));
  if constexpr (kCount > 2) {
    const auto high0 = hn::BitCast(quads, hn::InterleaveUpper(pairs, in0, in2));
    const auto high4 = hn::BitCast(quads, hn::InterleaveUpper(pairs, in4, in6));
    store(2, hn::BitCast(d, hn::InterleaveLower(quads, high0, high4)));
    if constexpr (kCount > 3) store(3, hn::BitCast(d, hn::InterleaveUpper(quads, high0, high4)));
  }
}

// A vector whose 16-byte block b is at from(b).
template <class D, class From>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const From& from) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 32) {
    const hn::Half<D> half;
    return hn::Combine(d, hn::LoadU(half, from(1)), hn::LoadU(half, from(0)));
  } else {
    return hn::LoadU(d, from(0));
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_ROWS_INL_H_
