// SPDX-License-Identifier: Apache-2.0
// Groups of up to four vectors of the channels of a pixel. Included once per instruction set, as
// Highway wants it.

#if defined(MLUOP_OPS_PSROIPOOL_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_PSROIPOOL_CPU_VECTORS_INL_H_
#undef MLUOP_OPS_PSROIPOOL_CPU_VECTORS_INL_H_
#else
#define MLUOP_OPS_PSROIPOOL_CPU_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "cpu/simd-inl.h"
#include "cpu/vectors-inl.h"
#include "ops/psroipool/cpu/band.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using mluop::HWY_NAMESPACE::LoadLanes;
using mluop::HWY_NAMESPACE::StoreFirst;
using mluop::HWY_NAMESPACE::Vectors;
using mluop::HWY_NAMESPACE::WithVectors;

// kCount vectors of channels, of which `channels` exist.
template <class D, int kCount>
struct Group {
  D d;
  int64_t channels;

  // Not a member: as a constant it takes no register, of which the kernels are short.
  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
};

// Calls body(group, c) for groups from channel c on, which hold all channels.
template <int kCount, class D, class Body>
HWY_INLINE void ForEachGroup(D d, Vectors<kCount>, int64_t channels, const Body& body) {
  if constexpr (kCount > 0) return body(Group<D, kCount>{d, channels}, int64_t{0});
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 3 * lanes < channels; c += 4 * lanes) body(Group<D, 4>{d, channels - c}, c);
  const int64_t rest = channels - c;
  if (rest > 2 * lanes) return body(Group<D, 3>{d, rest}, c);
  if (rest > lanes) return body(Group<D, 2>{d, rest}, c);
  if (rest > 0) return body(Group<D, 1>{d, rest}, c);
}

// A group's vectors; those beyond kCount cost nothing.
template <class D>
struct Lanes {
  hn::Vec<D> v0, v1, v2, v3;
};

template <class D, int kCount>
HWY_INLINE Lanes<D> LoadLanes(const Group<D, kCount>& g, const float* from) {
  const auto none = hn::Zero(g.d);
  return {hn::LoadU(g.d, from), kCount > 1 ? hn::LoadU(g.d, from + g.lanes()) : none,
          kCount > 2 ? hn::LoadU(g.d, from + 2 * g.lanes()) : none,
          kCount > 3 ? hn::LoadU(g.d, from + 3 * g.lanes()) : none};
}

template <class D, int kCount>
HWY_INLINE void StoreLanes(const Group<D, kCount>& g, const Lanes<D>& lanes, float* to) {
  hn::StoreU(lanes.v0, g.d, to);
  if (kCount > 1) hn::StoreU(lanes.v1, g.d, to + g.lanes());
  if (kCount > 2) hn::StoreU(lanes.v2, g.d, to + 2 * g.lanes());
  if (kCount > 3) hn::StoreU(lanes.v3, g.d, to + 3 * g.lanes());
}

template <class D>
HWY_INLINE Lanes<D> Plus(const Lanes<D>& a, const Lanes<D>& b) {
  return {hn::Add(a.v0, b.v0), hn::Add(a.v1, b.v1), hn::Add(a.v2, b.v2), hn::Add(a.v3, b.v3)};
}

template <class D, int kCount>
HWY_INLINE void AddLanes(const Group<D, kCount>& g, const Lanes<D>& lanes, float* to) {
  StoreLanes(g, Plus(LoadLanes(g, to), lanes), to);
}

template <class D>
HWY_INLINE Lanes<D> Over(D d, const Lanes<D>& a, float divisor) {
  const auto b = hn::Set(d, divisor);
  return {hn::Div(a.v0, b), hn::Div(a.v1, b), hn::Div(a.v2, b), hn::Div(a.v3, b)};
}

template <class D, int kCount>
HWY_INLINE Lanes<D> Splat(const Group<D, kCount>& g, float value) {
  const auto v = hn::Set(g.d, value);
  return {v, v, v, v};
}

// Those of the group's channels that exist; the last vector alone may be cut short.
template <class D, int kCount>
HWY_INLINE Lanes<D> LoadExisting(const Group<D, kCount>& g, const float* from) {
  const auto load = [&](int k) HWY_ATTR {
    if (k >= kCount) return hn::Zero(g.d);
    if (k + 1 < kCount) return hn::LoadU(g.d, from + k * g.lanes());
    const int64_t rest = g.channels - k * g.lanes();
    if (rest >= g.lanes()) return hn::LoadU(g.d, from + k * g.lanes());
    return LoadLanes(g.d, from + k * g.lanes(), 0, rest);
  };
  return {load(0), load(1), load(2), load(3)};
}

template <class D, int kCount>
HWY_INLINE void StoreExisting(const Group<D, kCount>& g, const Lanes<D>& lanes, float* to) {
  const auto store = [&](int k, auto v) HWY_ATTR {
    if (k >= kCount) return;
    if (k + 1 < kCount) return hn::StoreU(v, g.d, to + k * g.lanes());
    const int64_t rest = g.channels - k * g.lanes();
    if (rest >= g.lanes()) return hn::StoreU(v, g.d, to + k * g.lanes());
    StoreFirst(v, g.d, rest, to + k * g.lanes());
  };
  store(0, lanes.v0);
  store(1, lanes.v1);
  store(2, lanes.v2);
  store(3, lanes.v3);
}

// Where the columns of a bin lie in a row of the band, up to kColumns of them; beyond its own stands
// the neutral one, so that no bin has a number of columns for the processor to guess.
template <int kColumns>
struct Columns {
  int64_t at[kColumns];

  Columns(const Band& band, Span span) {
    for (int64_t w = 0; w < kColumns; ++w) {
      const int64_t place = (span.begin + w) * band.pixel_stride;
      at[w] = w < span.size() ? place : band.neutral();
    }
  }
};

template <int kColumns>
using Width = std::integral_constant<int, kColumns>;

// Calls body(Width<k>) with k = width up to 8, else with 0.
template <class Body>
HWY_INLINE void WithWidth(int64_t width, const Body& body) {
  switch (width) {
    case 1: return body(Width<1>());
    case 2: return body(Width<2>());
    case 3: return body(Width<3>());
    case 4: return body(Width<4>());
    case 5: return body(Width<5>());
    case 6: return body(Width<6>());
    case 7: return body(Width<7>());
    case 8: return body(Width<8>());
    default: return body(Width<0>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_PSROIPOOL_CPU_VECTORS_INL_H_
