// SPDX-License-Identifier: Apache-2.0
// Loops over vectors that the families share. Included once per instruction set, as Highway wants
// it. Nothing here reads or writes beside the elements it is asked for: Highway's masked accesses
// touch whole vectors on some instruction sets, so the ends of rows are done one element at a time.

#if defined(MLUOP_CORE_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CORE_SIMD_INL_H_
#undef MLUOP_CORE_SIMD_INL_H_
#else
#define MLUOP_CORE_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/dtype.h"

// Below AVX2 Highway's conversions of half lose infinities and NaN one way and round towards zero
// the other.
#undef MLUOP_CONVERTS_HALF
#define MLUOP_CONVERTS_HALF (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for ascending i that cover [0, n): whole vectors first, then 16 bytes, then
// single lanes. `d` is the tag of what is processed at i. Rows are short here (60 floats in
// PSANet): without the middle step a row of 60 ends in 12 single lanes of AVX-512.
template <typename T, class Body>
HWY_INLINE void ForEach(int64_t n, const Body& body) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16 / sizeof(T)> quarter;
  const hn::CappedTag<T, 1> one;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto quarter_step = static_cast<int64_t>(hn::Lanes(quarter));
  int64_t i = 0;
  for (; i + step <= n; i += step) body(d, i);
  for (; i + quarter_step <= n; i += quarter_step) body(quarter, i);
  for (; i < n; ++i) body(one, i);
}

// Bit for bit.
template <typename T>
HWY_INLINE void CopyRow(const T* HWY_RESTRICT from, int64_t n, T* HWY_RESTRICT to) {
  ForEach<T>(n, [&](auto d, int64_t i) { hn::StoreU(hn::LoadU(d, from + i), d, to + i); });
}

template <typename T>
HWY_INLINE void ZeroRow(T* to, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) { hn::StoreU(hn::Zero(d), d, to + i); });
}

// Lanes of float or half as floats: exact.
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const Half* from) {
  const hn::Rebind<uint16_t, D> narrow;
  const hn::Rebind<hwy::float16_t, D> halves;
  const auto bits = hn::LoadU(narrow, &from->bits);
  const auto value = hn::PromoteTo(d, hn::BitCast(halves, bits));
#if MLUOP_CONVERTS_HALF
  return value;
#else
  const hn::RebindToUnsigned<D> wide;
  const auto exponent = hn::And(hn::PromoteTo(wide, bits), hn::Set(wide, 0x7c00u));
  const auto no_number = hn::Eq(exponent, hn::Set(wide, 0x7c00u));
  const auto special = hn::IfThenElseZero(no_number, hn::Set(wide, 0x7f800000u));
  return hn::BitCast(d, hn::Or(hn::BitCast(wide, value), special));
#endif
}

// Floats to float or half: rounds to nearest even.
template <class D>
HWY_INLINE void StoreFloats(hn::Vec<D> v, D d, float* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void StoreFloats(hn::Vec<D> v, D d, Half* to) {
#if MLUOP_CONVERTS_HALF
  const hn::Rebind<uint16_t, D> narrow;
  const hn::Rebind<hwy::float16_t, D> halves;
  hn::StoreU(hn::BitCast(narrow, hn::DemoteTo(halves, v)), narrow, &to->bits);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = ToHalf(lanes[i]);
#endif
}

// to[a*to_stride + b] = from[b*from_stride + a] for a, b in [0, 4). Bit for bit.
HWY_INLINE void TransposeTile4(const float* from, int64_t from_stride, float* to,
                               int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) to[a * to_stride + b] = from[b * from_stride + a];
  }
#else
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto in0 = hn::LoadU(d, from);
  const auto in1 = hn::LoadU(d, from + from_stride);
  const auto in2 = hn::LoadU(d, from + 2 * from_stride);
  const auto in3 = hn::LoadU(d, from + 3 * from_stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, in0, in1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, in2, in3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, in0, in1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, in2, in3));
  const auto store = [&](auto v, int64_t a) {
    hn::StoreU(hn::BitCast(d, v), d, to + a * to_stride);
  };
  store(hn::InterleaveLower(pairs, low01, low23), 0);
  store(hn::InterleaveUpper(pairs, low01, low23), 1);
  store(hn::InterleaveLower(pairs, high01, high23), 2);
  store(hn::InterleaveUpper(pairs, high01, high23), 3);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CORE_SIMD_INL_H_
