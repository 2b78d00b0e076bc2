// SPDX-License-Identifier: Apache-2.0
// Kernel columns of several masks in vectors: lane k of column j is element (i, j) of mask k's kernel.
// Included once per instruction set, hence without a guard.

#include <hwy/highway.h>

#include <cstdint>

#include "cpu/simd-inl.h"
#include "cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// 32 bytes at most: 64-byte shuffles have one port, 32-byte shuffles two.
template <typename T>
using ColumnTag = hn::CappedTag<T, 32 / sizeof(T)>;

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

// Four columns of any masks: loads 16 bytes at from + corner[k] for each and transposes them.
template <typename T, class D = ColumnTag<T>>
HWY_INLINE simd::VecArray<D, 4> LoadColumns(const T* from, const int64_t* corner) {
  const D d;
  const hn::Repartition<uint32_t, D> words;
  constexpr int kBlock = 16 / sizeof(T);  // lanes
  const auto row = [&](int r) HWY_ATTR {
    return LoadBlocks(d, [&](int b) HWY_ATTR { return from + corner[r + kBlock * b]; });
  };
  auto v = simd::MakeVecs<decltype(words), 4>([&](auto r) HWY_ATTR {
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      return row(r);
    } else {
      return hn::BitCast(words, hn::InterleaveLower(d, row(2 * r), row(2 * r + 1)));
    }
  });
  simd::TransposeWithinBlocks(words, v.v);
  return simd::MakeVecs<D, 4>([&](auto k) HWY_ATTR { return hn::BitCast(d, v.v[k]); });
}

#endif  // HWY_TARGET != HWY_SCALAR

#if MLUOP_HAS_LOOKUP_TWO

template <typename T>
using WindowTag = hn::FixedTag<T, 64 / sizeof(T)>;

// Columns of masks that are close together, as sorted masks are. Lane k of column j is the element
// places[k] + j of a window of two or four vectors at `from`. Lookups need 0.33 instructions per
// element; loads and transposes need 1.5.
template <int kVectors, typename T, class D = WindowTag<T>>
HWY_INLINE simd::VecArray<D, 4> LoadWindow(const T* from, hn::Vec<D> places) {
  using simd::LookupTwo;
  constexpr int64_t kLanes = 64 / sizeof(T);
  const D d;
  const auto v =
      simd::MakeVecs<D, kVectors>([&](auto k) HWY_ATTR { return hn::LoadU(d, from + k * kLanes); });
  return simd::MakeVecs<D, 4>([&](auto j) HWY_ATTR {
    const auto at = hn::Add(places, hn::Set(d, static_cast<T>(j)));
    const auto lower = LookupTwo(v.v[0], v.v[1], at);
    if constexpr (kVectors == 2) {
      return lower;
    } else {
      const auto in_upper = hn::TestBit(at, hn::Set(d, static_cast<T>(2 * kLanes)));
      return hn::IfThenElse(in_upper, LookupTwo(v.v[2], v.v[3], at), lower);
    }
  });
}

HWY_INLINE hn::Vec<WindowTag<uint16_t>> LoadPlaces(WindowTag<uint16_t> d, const uint16_t* places) {
  return hn::LoadU(d, places);
}
HWY_INLINE hn::Vec<WindowTag<uint32_t>> LoadPlaces(WindowTag<uint32_t> d, const uint16_t* places) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint16_t, decltype(d)>(), places));
}

#endif  // MLUOP_HAS_LOOKUP_TWO

}  // namespace
}  // namespace mluop::masked_im2col::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
