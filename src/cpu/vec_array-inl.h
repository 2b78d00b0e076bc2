// SPDX-License-Identifier: Apache-2.0
// VecArray: several vectors in registers. Templates unroll the loops over them, so that the
// compiler keeps each vector in a register. Included once per instruction set.

#if defined(MLUOP_CPU_VEC_ARRAY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_VEC_ARRAY_INL_H_
#undef MLUOP_CPU_VEC_ARRAY_INL_H_
#else
#define MLUOP_CPU_VEC_ARRAY_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kCount vectors of the tag D. v[k] holds the elements from k*Lanes(d) on.
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

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_VEC_ARRAY_INL_H_
