// SPDX-License-Identifier: Apache-2.0
// Vector loops, loads and stores that the families share. Included once per instruction set. No
// function accesses memory outside the given elements. Highway's masked accesses touch whole
// vectors on some instruction sets, so the ends of rows are processed element by element.

#if defined(MLUOP_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_SIMD_INL_H_
#undef MLUOP_CPU_SIMD_INL_H_
#else
#define MLUOP_CPU_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/dtype.h"

// Below AVX2, Highway's half to float conversion loses infinities and NaN, and float to half rounds
// towards zero.
#undef MLUOP_HAS_HALF_CONVERSION
#define MLUOP_HAS_HALF_CONVERSION (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

// 1 if masked loads and stores of floats access only the selected lanes.
#undef MLUOP_HAS_MASKED_ACCESS
#define MLUOP_HAS_MASKED_ACCESS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for ascending i that cover [0, n): whole vectors first, then 16 bytes, then
// single lanes. `d` is the tag of the vector at i. Rows are short (60 floats in PSANet): without
// the middle step a row of 60 would end in 12 single lanes with AVX-512.
template <typename T, class Body>
HWY_INLINE void ForEach(int64_t n, const Body& body) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 16 / sizeof(T)> block;
  const hn::CappedTag<T, 1> one;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  const auto block_step = static_cast<int64_t>(hn::Lanes(block));
  int64_t i = 0;
  for (; i + step <= n; i += step) body(d, i);
  for (; i + block_step <= n; i += block_step) body(block, i);
  for (; i < n; ++i) body(one, i);
}

// Copies bits exactly.
template <typename T>
HWY_INLINE void CopyRow(const T* HWY_RESTRICT from, int64_t n, T* HWY_RESTRICT to) {
  ForEach<T>(n, [&](auto d, int64_t i) { hn::StoreU(hn::LoadU(d, from + i), d, to + i); });
}

template <typename T>
HWY_INLINE void ZeroRow(T* to, int64_t n) {
  ForEach<T>(n, [&](auto d, int64_t i) { hn::StoreU(hn::Zero(d), d, to + i); });
}

// Loads float or half as float: exact.
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
#if MLUOP_HAS_HALF_CONVERSION
  return value;
#else
  const hn::RebindToUnsigned<D> wide;
  const auto exponent = hn::And(hn::PromoteTo(wide, bits), hn::Set(wide, 0x7c00u));
  const auto is_inf_or_nan = hn::Eq(exponent, hn::Set(wide, 0x7c00u));
  const auto special = hn::IfThenElseZero(is_inf_or_nan, hn::Set(wide, 0x7f800000u));
  return hn::BitCast(d, hn::Or(hn::BitCast(wide, value), special));
#endif
}

// Replaces every NaN by the default quiet NaN, 0x7fc00000. The sign and payload of a computed NaN
// depend on the instruction set and on the order of the operands.
template <class D>
HWY_INLINE hn::Vec<D> CanonicalNan(D d, hn::Vec<D> v) {
  const auto quiet = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7fc00000u));
  return hn::IfThenElse(hn::Eq(v, v), v, quiet);
}

#if MLUOP_HAS_HALF_CONVERSION
// Returns the bits of the halves; rounds to nearest even.
template <class D>
HWY_INLINE auto HalfBits(hn::Vec<D> v, D) {
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(halves, v));
}
#endif

// Stores floats as float or half: rounds to nearest even.
template <class D>
HWY_INLINE void StoreFloats(hn::Vec<D> v, D d, float* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void StoreFloats(hn::Vec<D> v, D d, Half* to) {
#if MLUOP_HAS_HALF_CONVERSION
  hn::StoreU(HalfBits(v, d), hn::Rebind<uint16_t, D>(), &to->bits);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = ToHalf(lanes[i]);
#endif
}

// The same with non-temporal stores; `to` must be aligned to the stored vector.
template <class D>
HWY_INLINE void StreamFloats(hn::Vec<D> v, D d, float* to) {
  hn::Stream(v, d, to);
}
template <class D>
HWY_INLINE void StreamFloats(hn::Vec<D> v, D d, Half* to) {
#if MLUOP_HAS_HALF_CONVERSION
  hn::Stream(HalfBits(v, d), hn::Rebind<uint16_t, D>(), &to->bits);
#else
  StoreFloats(v, d, to);
#endif
}

// Loads the lanes [begin, end) of the vector at `from`; the other lanes are 0.
template <class D>
HWY_INLINE hn::Vec<D> LoadLanes(D d, const float* from, int64_t begin, int64_t end) {
#if MLUOP_HAS_MASKED_ACCESS
  const auto first = [&](int64_t n) HWY_ATTR { return hn::FirstN(d, static_cast<size_t>(n)); };
  return hn::MaskedLoad(hn::AndNot(first(begin), first(end)), d, from);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(D())] = {};
  for (int64_t i = begin; i < end; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

// Stores the lanes [0, end).
template <class D>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, int64_t end, float* to) {
#if MLUOP_HAS_MASKED_ACCESS
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(end)), d, to);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < end; ++i) to[i] = lanes[i];
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_SIMD_INL_H_
