// SPDX-License-Identifier: Apache-2.0
// Chooses the vectors for a short row of floats. Included once per instruction set.

#if defined(MLUOP_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_VECTORS_INL_H_
#undef MLUOP_CPU_VECTORS_INL_H_
#else
#define MLUOP_CPU_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <int kCount>
using Vectors = std::integral_constant<int, kCount>;

// Calls body(d, Vectors<k>) with the shortest vectors of which k hold n floats; k = 0 means any
// number. WholeVectors (cpu/vectors.h) pads rows to these vectors.
template <class Body>
HWY_INLINE void WithVectors(int64_t n, const Body& body) {
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 8> eight;
  const hn::CappedTag<float, 16> whole;
  const auto fits = [&](auto d, int64_t vectors)
                        HWY_ATTR { return n <= vectors * static_cast<int64_t>(hn::Lanes(d)); };
  if (fits(four, 1)) return body(four, Vectors<1>());
  if (fits(eight, 1)) return body(eight, Vectors<1>());
  if (fits(whole, 1)) return body(whole, Vectors<1>());
  if (fits(whole, 2)) return body(whole, Vectors<2>());
  body(whole, Vectors<0>());
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_VECTORS_INL_H_
