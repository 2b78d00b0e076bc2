// SPDX-License-Identifier: Apache-2.0
// Squares of floats transposed in registers. Included once per instruction set.

#if defined(MLUOP_CPU_SQUARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_SQUARE_INL_H_
#undef MLUOP_CPU_SQUARE_INL_H_
#else
#define MLUOP_CPU_SQUARE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many rows as a vector has lanes: 16 with AVX-512, 8 with AVX2, 4 below.
using SquareTag = hn::ScalableTag<float>;
constexpr int kSquare = static_cast<int>(hn::MaxLanes(SquareTag()));

#if HWY_TARGET != HWY_SCALAR
// Of each 16 bytes, four rows: afterwards the 16-byte block b of v[k] is column 4b+k of the rows.
template <class D>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D>* v) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[0], v[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[2], v[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// The blocks of 16 vectors are a 4 x 4 square again. Highway has no name for this shuffle.
template <class V>
HWY_INLINE void TransposeBlocksOf16(V* v) {
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
#endif

// Where LookupTwo exists. Highway 1.0.3 has no lookup in two vectors.
#undef MLUOP_HAS_LOOKUP_TWO
#define MLUOP_HAS_LOOKUP_TWO (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

#if MLUOP_HAS_LOOKUP_TWO
// Lane k is the element at[k] of a and b in a row; the bits of at[k] above are ignored.
HWY_INLINE hn::Vec512<uint32_t> LookupTwo(hn::Vec512<uint32_t> a, hn::Vec512<uint32_t> b,
                                          hn::Vec512<uint32_t> at) {
  return {_mm512_permutex2var_epi32(a.raw, at.raw, b.raw)};
}
HWY_INLINE hn::Vec512<uint16_t> LookupTwo(hn::Vec512<uint16_t> a, hn::Vec512<uint16_t> b,
                                          hn::Vec512<uint16_t> at) {
  return {_mm512_permutex2var_epi16(a.raw, at.raw, b.raw)};
}
#endif

// Lane a of v[b] and lane b of v[a] change places, for all a and b. Bit for bit.
template <class D>
HWY_INLINE void TransposeSquare([[maybe_unused]] D d, [[maybe_unused]] hn::Vec<D>* v) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int kSide = static_cast<int>(hn::MaxLanes(D()));
  for (int row = 0; row < kSide; row += 4) TransposeBlocks(d, v + row);
  if constexpr (kSide == 8) {
    for (int k = 0; k < 4; ++k) {
      const auto top = v[k], bottom = v[4 + k];
      v[k] = hn::ConcatLowerLower(d, bottom, top);
      v[4 + k] = hn::ConcatUpperUpper(d, bottom, top);
    }
  }
#endif
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (kSide == 16) TransposeBlocksOf16(v);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_SQUARE_INL_H_
