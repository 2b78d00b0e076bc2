// SPDX-License-Identifier: Apache-2.0
// Transposes squares in registers. The only file that uses raw intrinsics and Highway's private
// members. Included once per instruction set.

#if defined(MLUOP_CPU_SQUARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_SQUARE_INL_H_
#undef MLUOP_CPU_SQUARE_INL_H_
#else
#define MLUOP_CPU_SQUARE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "cpu/vec_array-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A square of floats has as many rows as a vector has lanes: 16 with AVX-512, 8 with AVX2, 4 below.
using SquareTag = hn::ScalableTag<float>;
constexpr int kSquare = static_cast<int>(hn::MaxLanes(SquareTag()));

#if HWY_TARGET != HWY_SCALAR
// Transposes within blocks of 16 bytes, which hold kSide elements. The input is kSide rows;
// afterwards block b of v[k] is column kSide*b + k. Each of log2(kSide) steps is a perfect shuffle.
template <class D, int kSide = 16 / sizeof(hn::TFromD<D>), int kSteps = kSide>
HWY_INLINE void TransposeWithinBlocks(D d, hn::Vec<D>* v) {
  if constexpr (kSteps > 1) {
    hn::Vec<D> rows[kSide];
    Unroll<kSide>([&](auto k) HWY_ATTR { rows[k] = v[k]; });
    Unroll<kSide / 2>([&](auto k) HWY_ATTR {
      v[2 * k] = hn::InterleaveLower(d, rows[k], rows[kSide / 2 + k]);
      v[2 * k + 1] = hn::InterleaveUpper(d, rows[k], rows[kSide / 2 + k]);
    });
    TransposeWithinBlocks<D, kSide, kSteps / 2>(d, v);
  }
}
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Transposes the 4 x 4 blocks of 16 vectors of floats. Highway has no function for this shuffle.
template <class V>
HWY_INLINE void TransposeBlockMatrix(V* v) {
  constexpr int kEven = 0x88, kOdd = 0xdd;
  for (int k = 0; k < 4; ++k) {
    const auto a = v[k].raw, b = v[4 + k].raw, c = v[8 + k].raw, e = v[12 + k].raw;
    const auto even_top = _mm512_shuffle_f32x4(a, b, kEven);
    const auto odd_top = _mm512_shuffle_f32x4(a, b, kOdd);
    const auto even_bottom = _mm512_shuffle_f32x4(c, e, kEven);
    const auto odd_bottom = _mm512_shuffle_f32x4(c, e, kOdd);
    v[k] = V{_mm512_shuffle_f32x4(even_top, even_bottom, kEven)};
    v[4 + k] = V{_mm512_shuffle_f32x4(odd_top, odd_bottom, kEven)};
    v[8 + k] = V{_mm512_shuffle_f32x4(even_top, even_bottom, kOdd)};
    v[12 + k] = V{_mm512_shuffle_f32x4(odd_top, odd_bottom, kOdd)};
  }
}

// Returns the last `shift` lanes of `before`, then the first lanes of `v`. 0 <= shift < 16.
HWY_INLINE hn::Vec<SquareTag> JoinLanes(hn::Vec<SquareTag> before, hn::Vec<SquareTag> v,
                                        int32_t shift) {
  const hn::RebindToSigned<SquareTag> d;
  const auto lanes = hn::Add(hn::Iota(d, 0), hn::Set(d, 16 - shift));
  return hn::Vec<SquareTag>{_mm512_permutex2var_ps(before.raw, lanes.raw, v.raw)};
}
#endif

// Defined if LookupTwo exists. Highway 1.0.3 has no lookup in two vectors.
#undef MLUOP_HAS_LOOKUP_TWO
#define MLUOP_HAS_LOOKUP_TWO (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

#if MLUOP_HAS_LOOKUP_TWO
// Lane k of the result is element indices[k] of the concatenation of a and b. Higher bits of an
// index are ignored.
HWY_INLINE hn::Vec512<uint32_t> LookupTwo(hn::Vec512<uint32_t> a, hn::Vec512<uint32_t> b,
                                          hn::Vec512<uint32_t> indices) {
  return {_mm512_permutex2var_epi32(a.raw, indices.raw, b.raw)};
}
HWY_INLINE hn::Vec512<uint16_t> LookupTwo(hn::Vec512<uint16_t> a, hn::Vec512<uint16_t> b,
                                          hn::Vec512<uint16_t> indices) {
  return {_mm512_permutex2var_epi16(a.raw, indices.raw, b.raw)};
}
#endif

// Swaps lane a of v[b] with lane b of v[a] for all a and b, keeping all bits. `d` must have one
// lane or one 16-byte block, or be a float tag.
template <class D>
HWY_INLINE void TransposeSquare([[maybe_unused]] D d, [[maybe_unused]] hn::Vec<D>* v) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int kSide = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kBlock = 16 / sizeof(hn::TFromD<D>);
  for (int row = 0; row < kSide; row += kBlock) TransposeWithinBlocks(d, v + row);
  if constexpr (kSide == 2 * kBlock) {
    for (int k = 0; k < kBlock; ++k) {
      const auto top = v[k], bottom = v[kBlock + k];
      v[k] = hn::ConcatLowerLower(d, bottom, top);
      v[kBlock + k] = hn::ConcatUpperUpper(d, bottom, top);
    }
  }
#endif
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (kSide == 4 * kBlock) TransposeBlockMatrix(v);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_SQUARE_INL_H_
