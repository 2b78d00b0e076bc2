// SPDX-License-Identifier: Apache-2.0
// Transposes squares in registers, and matrices of floats in square tiles. The only file that uses raw
// intrinsics and Highway's private members. Included once per instruction set.

#if defined(MLUOP_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_TRANSPOSE_INL_H_
#undef MLUOP_CPU_TRANSPOSE_INL_H_
#else
#define MLUOP_CPU_TRANSPOSE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::HWY_NAMESPACE {

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

// Loads a square and transposes it: v[k] = column k of `from`. With AVX2 the loads exchange the
// blocks, which saves a third of the shuffles.
template <class D, typename From>
HWY_INLINE void LoadTransposed(D d, const From* from, int64_t stride, hn::Vec<D>* v) {
  constexpr int kSide = static_cast<int>(hn::MaxLanes(D()));
#if HWY_TARGET == HWY_AVX2
  constexpr int kBlock = 16 / sizeof(hn::TFromD<D>);
  if constexpr (kSide == 2 * kBlock) {
    const hn::Half<D> half;
    Unroll<kSide>([&](auto k) HWY_ATTR {
      const auto* const top = from + k % kBlock * stride + k / kBlock * kBlock;
      v[k] = hn::Combine(d, LoadFloats(half, top + kBlock * stride), LoadFloats(half, top));
    });
    TransposeWithinBlocks(d, v);
    return TransposeWithinBlocks(d, v + kBlock);
  }
#endif
  for (int k = 0; k < kSide; ++k) v[k] = LoadFloats(d, from + k * stride);
  if constexpr (kSide > 1) TransposeSquare(d, v);
}

// Row-major matrices in memory.
template <typename T>
struct ConstMatrixOf {
  const T* data;
  int64_t stride;
  int64_t ahead = 0;  // prefetches the lines of elements at this distance; 0: none
};
template <typename T>
struct MatrixOf {
  T* data;
  int64_t stride;
};
using ConstMatrix = ConstMatrixOf<float>;
using Matrix = MatrixOf<float>;

// The identity conversion: stores the bits of every vector unchanged.
struct Identity {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> v) const {
    return v;
  }
};

// The type of a lane: halves are floats in registers.
template <typename T>
using Lane = std::conditional_t<std::is_same_v<T, Half>, float, T>;

// Transposes a square tile in registers.
template <int kSide, typename From, typename To, class Convert>
HWY_INLINE void TransposeTile(const ConstMatrixOf<From>& from, const MatrixOf<To>& to,
                              const Convert& convert) {
  const hn::CappedTag<Lane<From>, kSide> d;
  hn::Vec<decltype(d)> v[kSide];
  if (kSide > 1 && from.ahead != 0) {
    for (int k = 0; k < kSide; ++k) hwy::Prefetch(from.data + k * from.stride + from.ahead);
  }
  LoadTransposed(d, from.data, from.stride, v);
// Without the pragma GCC keeps the loop and spills the tile: torchvision_ps_roi_pool backward
// on 3969x38x63 takes 1.6x the time.
#pragma GCC unroll 16
  for (int k = 0; k < kSide; ++k) StoreFloats(convert(d, v[k]), d, to.data + k * to.stride);
}

template <int kSide>
using Side = std::integral_constant<int, kSide>;

// Calls body(Side<k>) with the side of the largest tile that fits; `side` is the matrix's shorter
// side. For types other than float, a tile is 16 bytes wide.
template <typename T, class Body>
HWY_INLINE void WithSide([[maybe_unused]] int64_t side, const Body& body) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int kBlock = 16 / sizeof(T);
  if constexpr (sizeof(T) == 4) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if (side >= 16) return body(Side<16>());
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    if (side >= 8) return body(Side<8>());
#endif
  }
  if (side >= kBlock) return body(Side<kBlock>());
#endif
  body(Side<1>());
}

// Iterates along the rows of `from`: repacking [1,38,63,3969] took 0.94x the time of iterating
// along the rows of `to` (AVX-512, 2 threads); backward showed no difference.
template <int kSide, typename From, typename To, class Convert>
HWY_INLINE void TransposeInTiles(const ConstMatrixOf<From>& from, int64_t rows, int64_t columns,
                                 const MatrixOf<To>& to, const Convert& convert) {
  constexpr auto kLine = static_cast<int64_t>(kAlignment / sizeof(From));
  for (int64_t row = 0; row < rows; row += kSide) {
    const int64_t r = std::min(row, rows - kSide);
    for (int64_t column = 0; column < columns; column += kSide) {
      const int64_t c = std::min(column, columns - kSide);
      const int64_t ahead = column % kLine == 0 ? from.ahead : 0;
      TransposeTile<kSide, From, To>({from.data + r * from.stride + c, from.stride, ahead},
                                     {to.data + c * to.stride + r, to.stride}, convert);
    }
  }
}

// to[c][r] = convert(from[r][c]) in the largest tiles that fit. The last tiles overlap the previous
// ones, so nothing outside the matrix is accessed. Repacking [2,14,14,189] takes 20 us with tiles
// of 8, 28 us with tiles of 4; maps larger than the L2 gain nothing. Half and float convert to each
// other.
template <typename From = float, typename To = From, class Convert = Identity>
HWY_INLINE void Transpose(const ConstMatrixOf<std::type_identity_t<From>>& from, int64_t rows,
                          int64_t columns, const MatrixOf<std::type_identity_t<To>>& to,
                          const Convert& convert = {}) {
  WithSide<Lane<From>>(std::min(rows, columns), [&](auto side) HWY_ATTR {
    TransposeInTiles<side.value>(from, rows, columns, to, convert);
  });
}

}  // namespace mluop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_TRANSPOSE_INL_H_
