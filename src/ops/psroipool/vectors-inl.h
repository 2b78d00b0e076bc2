// SPDX-License-Identifier: Apache-2.0
// Loops over the channels of a pixel, up to four vectors of them in one pass over the pixels: every
// bin has other trip counts, which the processor guesses wrong, and a pass per vector would pay for
// that each time. Included once per instruction set, as Highway wants it.

#if defined(MLUOP_OPS_PSROIPOOL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_VECTORS_INL_H_
#undef MLUOP_OPS_PSROIPOOL_VECTORS_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <int kCount>
using Vectors = std::integral_constant<int, kCount>;

// Calls body(d, Vectors<k>) with the shortest vectors of which k hold all channels; k = 0 stands
// for any number.
template <class Body>
HWY_INLINE void WithVectors(int64_t channels, const Body& body) {
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 8> eight;
  const hn::ScalableTag<float> whole;
  const auto fits = [&](auto d, int64_t vectors) HWY_ATTR {
    return channels <= vectors * static_cast<int64_t>(hn::Lanes(d));
  };
  if (fits(four, 1)) return body(four, Vectors<1>());
  if (fits(eight, 1)) return body(eight, Vectors<1>());
  if (fits(whole, 1)) return body(whole, Vectors<1>());
  if (fits(whole, 2)) return body(whole, Vectors<2>());
  body(whole, Vectors<0>());
}

// Calls body(Vectors<k>, c) for groups of k <= 4 vectors from channel c on, which hold all
// channels.
template <int kCount, class D, class Body>
HWY_INLINE void ForEachGroup(D d, Vectors<kCount> all, int64_t channels, const Body& body) {
  if constexpr (kCount > 0) return body(all, int64_t{0});
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 3 * lanes < channels; c += 4 * lanes) body(Vectors<4>(), c);
  if (c + 2 * lanes < channels) return body(Vectors<3>(), c);
  if (c + lanes < channels) return body(Vectors<2>(), c);
  if (c < channels) return body(Vectors<1>(), c);
}

// The first n elements, or the whole vector if n is more, and zeros.
template <class D>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const float* from, int64_t n) {
  if (n >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}

template <class D>
HWY_INLINE void StoreFirst(D d, hn::Vec<D> v, int64_t n, float* to) {
  if (n >= static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(v, d, to);
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < n; ++i) to[i] = lanes[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_VECTORS_INL_H_
