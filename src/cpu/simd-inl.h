// SPDX-License-Identifier: Apache-2.0
// Vector loops, loads and stores that the families share, and VecArray: several vectors in
// registers. Included once per instruction set. No function accesses memory outside the given
// elements. Highway's masked accesses touch whole vectors on some instruction sets, so the ends of
// rows are processed element by element.

#if defined(MLUOP_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_SIMD_INL_H_
#undef MLUOP_CPU_SIMD_INL_H_
#else
#define MLUOP_CPU_SIMD_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "cpu/scratch.h"

// Below AVX2, Highway's half to float conversion loses infinities and NaN, and float to half rounds
// towards zero.
#undef MLUOP_HAS_HALF_CONVERSION
#define MLUOP_HAS_HALF_CONVERSION (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

// 1 if masked loads and stores of floats access only the selected lanes.
#undef MLUOP_HAS_MASKED_ACCESS
#define MLUOP_HAS_MASKED_ACCESS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

HWY_BEFORE_NAMESPACE();
namespace mluop::HWY_NAMESPACE {

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

// to[i] = value(d, i) for i in [0, n), where value returns the vector at i. `stream` writes whole
// cache lines with non-temporal stores; FlushStream() before another thread may read them. The ends
// of the row share their lines with its neighbours and go through the caches. A line written by
// both kinds of stores is slow (im2col C256 100x152 M3997 k3 with AVX2: 8.9x floor instead of
// 1.7x).
template <typename T, class Value>
HWY_INLINE void StoreRow(T* HWY_RESTRICT to, int64_t n, bool stream, const Value& value) {
  constexpr auto kLine = static_cast<int64_t>(kAlignment / sizeof(T));
  const hn::CappedTag<T, kLine> d;
  const auto store = [&](int64_t begin, int64_t end) {
    ForEach<T>(end - begin, [&](auto tag, int64_t i) {
      hn::StoreU(value(tag, begin + i), tag, to + begin + i);
    });
  };
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (!stream || n < 2 * kLine || address % sizeof(T) != 0) return store(0, n);
  const auto past = static_cast<int64_t>(address / sizeof(T)) % kLine;
  const int64_t head = (kLine - past) % kLine;
  const int64_t tail = head + (n - head) / kLine * kLine;
  store(0, head);
  for (int64_t i = head; i < tail; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Stream(value(d, i), d, to + i);
  }
  store(tail, n);
}

// Copies bits exactly.
template <typename T>
HWY_INLINE void CopyRow(const T* HWY_RESTRICT from, int64_t n, T* HWY_RESTRICT to,
                        bool stream = false) {
  StoreRow(to, n, stream, [&](auto d, int64_t i) { return hn::LoadU(d, from + i); });
}

template <typename T>
HWY_INLINE void ZeroRow(T* to, int64_t n) {
  StoreRow(to, n, /*stream=*/false, [](auto d, int64_t) { return hn::Zero(d); });
}

// Prefetches `count` elements, one address per cache line.
template <typename T>
HWY_INLINE void PrefetchLines(const T* from, int64_t count) {
  constexpr auto kLine = static_cast<int64_t>(kAlignment / sizeof(T));
  for (int64_t i = 0; i < count; i += kLine) hwy::Prefetch(from + i);
}

// Returns an array as lanes. Half is not a lane type of Highway.
template <typename T>
HWY_INLINE T* LanesOf(T* array) {
  return array;
}
HWY_INLINE uint16_t* LanesOf(Half* array) { return &array->bits; }

// Loads half or float as float, double as double: exact.
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const hn::TFromD<D>* from) {
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

// Replaces every NaN by the default quiet NaN, 0x7fc00000 in float. The sign and payload of a
// computed NaN depend on the instruction set and on the order of the operands.
template <class D>
HWY_INLINE hn::Vec<D> CanonicalNan(D d, hn::Vec<D> v) {
  const auto quiet = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
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

// Stores floats as float or half, doubles as double: rounds to nearest even.
template <class D>
HWY_INLINE void StoreFloats(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
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

// kCount vectors of the tag D. Templates unroll the loops over them, so that the compiler keeps each
// vector in a register. v[k] holds the elements from k*Lanes(d) on.
template <class D, int kCount>
struct VecArray {
#if HWY_ARCH_ARM  // g++ compiles the implicit constructor for the baseline, which cannot inline NEON's.
  HWY_INLINE VecArray() {}
#endif
  hn::Vec<D> v[kCount];
};

// Calls body(k) for k = 0..kCount-1, k a std::integral_constant.
template <int kCount, class Body>
HWY_INLINE void Unroll(const Body& body) {
  if constexpr (kCount > 0) {
    Unroll<kCount - 1>(body);
    body(std::integral_constant<int, kCount - 1>());
  }
}

// v[k] = value(k).
template <class D, int kCount, class Value>
HWY_INLINE VecArray<D, kCount> MakeVecs(const Value& value) {
  VecArray<D, kCount> result;
  Unroll<kCount>([&](auto k) HWY_ATTR { result.v[k] = value(k); });
  return result;
}

template <int kCount, class D>
HWY_INLINE VecArray<D, kCount> SetVecs(D d, float value) {
  return MakeVecs<D, kCount>([&](auto) HWY_ATTR { return hn::Set(d, value); });
}

template <int kCount, class D, typename T>
HWY_INLINE VecArray<D, kCount> LoadVecs(D d, const T* from) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return MakeVecs<D, kCount>([&](auto k) HWY_ATTR { return LoadFloats(d, from + k * lanes); });
}

template <class D, int kCount, typename T>
HWY_INLINE void StoreVecs(const VecArray<D, kCount>& a, D d, T* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Unroll<kCount>([&](auto k) HWY_ATTR { StoreFloats(a.v[k], d, to + k * lanes); });
}

template <class D, int kCount>
HWY_INLINE VecArray<D, kCount> AddVecs(const VecArray<D, kCount>& a, const VecArray<D, kCount>& b) {
  return MakeVecs<D, kCount>([&](auto k) HWY_ATTR { return hn::Add(a.v[k], b.v[k]); });
}

}  // namespace mluop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_SIMD_INL_H_
