// SPDX-License-Identifier: Apache-2.0
// Blocks of channels of a pixel in registers. Included once per instruction set, hence without a guard.

#include <hwy/highway.h>

#include <cstdint>

#include "cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

// kVectors vectors of channels, of which `channels` exist: the last vector may be partial.
template <class DType, int kVectors>
struct ChannelBlock {
  using D = DType;
  using Vecs = simd::VecArray<D, kVectors>;
  static constexpr int kCount = kVectors;

  int64_t channels;

  // A function, not a data member, so that it stays a compile-time constant.
  static int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  static HWY_INLINE Vecs Set(float value) { return simd::SetVecs<kCount>(D(), value); }
  static HWY_INLINE Vecs Load(const float* from) { return simd::LoadVecs<kCount>(D(), from); }
  static HWY_INLINE void Store(const Vecs& vecs, float* to) { simd::StoreVecs(vecs, D(), to); }
  static HWY_INLINE void AddTo(const Vecs& vecs, float* to) {
    Store(simd::AddVecs(Load(to), vecs), to);
  }

  // Reads nothing beyond the existing channels; the other lanes are 0.
  HWY_INLINE Vecs LoadPartial(const float* from) const {
    return simd::MakeVecs<D, kCount>([&](auto k) HWY_ATTR {
      const int64_t rest = channels - k * lanes();
      if (k + 1 < kCount || rest >= lanes()) return hn::LoadU(D(), from + k * lanes());
      return simd::LoadLanes(D(), from + k * lanes(), 0, rest);
    });
  }
  HWY_INLINE void StorePartial(const Vecs& vecs, float* to) const {
    simd::Unroll<kCount>([&](auto k) HWY_ATTR {
      const int64_t rest = channels - k * lanes();
      if (k + 1 < kCount || rest >= lanes()) {
        return hn::StoreU(vecs.v[k], D(), to + k * lanes());
      }
      simd::StoreFirst(vecs.v[k], D(), rest, to + k * lanes());
    });
  }
};

template <class D, int kCount>
HWY_INLINE simd::VecArray<D, kCount> Divide(const simd::VecArray<D, kCount>& a, float divisor) {
  const auto b = hn::Set(D(), divisor);
  return simd::MakeVecs<D, kCount>([&](auto k) HWY_ATTR { return hn::Div(a.v[k], b); });
}

// The mean of `count` values with this sum. Every NaN is the default one.
template <class D, int kCount>
HWY_INLINE simd::VecArray<D, kCount> Mean(const simd::VecArray<D, kCount>& sum, float count) {
  const auto mean = Divide(sum, count);
  return simd::MakeVecs<D, kCount>([&](auto k)
                                       HWY_ATTR { return simd::CanonicalNan(D(), mean.v[k]); });
}

// Calls body(block, c) on consecutive blocks of at most kMaxVectors vectors that cover all
// channels. Vector sizes match WholeVectors(): one short vector if it holds all channels.
template <int kMaxVectors, class Body>
HWY_INLINE void ForEachChannelBlock(int64_t channels, const Body& body) {
  using Four = ChannelBlock<hn::CappedTag<float, 4>, 1>;
  using Eight = ChannelBlock<hn::CappedTag<float, 8>, 1>;
  using Tag = hn::CappedTag<float, 16>;
  if (channels <= Four::lanes()) return body(Four{channels}, int64_t{0});
  if (channels <= Eight::lanes()) return body(Eight{channels}, int64_t{0});
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  int64_t c = 0;
  for (; c + (kMaxVectors - 1) * lanes < channels; c += kMaxVectors * lanes) {
    body(ChannelBlock<Tag, kMaxVectors>{channels - c}, c);
  }
  const int64_t rest = (channels - c + lanes - 1) / lanes;
  simd::Unroll<kMaxVectors - 1>([&](auto k) HWY_ATTR {
    if (rest == k + 1) body(ChannelBlock<Tag, k + 1>{channels - c}, c);
  });
}

}  // namespace mluop::roi::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
