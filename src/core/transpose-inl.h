// SPDX-License-Identifier: Apache-2.0
// Square tiles transposed in registers. Included once per instruction set, as Highway wants it.

#if defined(MLUOP_CORE_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CORE_TRANSPOSE_INL_H_
#undef MLUOP_CORE_TRANSPOSE_INL_H_
#else
#define MLUOP_CORE_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A matrix in memory, row by row.
struct Source {
  const float* data;
  int64_t stride;
};
struct Target {
  float* data;
  int64_t stride;
};

template <int kSide>
struct Tile {};

HWY_INLINE void TransposeTile(Tile<1>, const Source& from, const Target& to) {
  to.data[0] = from.data[0];
}

HWY_INLINE void TransposeTile(Tile<4>, const Source& from, const Target& to) {
  TransposeTile4(from.data, from.stride, to.data, to.stride);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
// Four vectors of which every block of 16 bytes is a row of four elements: after it, v_k has in
// block j column k of the 4 x 4 elements in the blocks j.
template <class D>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D>& v0, hn::Vec<D>& v1, hn::Vec<D>& v2,
                                hn::Vec<D>& v3) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
  v0 = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  v1 = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  v2 = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  v3 = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

HWY_INLINE void TransposeTile(Tile<8>, const Source& from, const Target& to) {
  const hn::FixedTag<float, 8> d;
  hn::Vec<decltype(d)> v[8];
  for (int i = 0; i < 8; ++i) v[i] = hn::LoadU(d, from.data + i * from.stride);
  TransposeBlocks(d, v[0], v[1], v[2], v[3]);
  TransposeBlocks(d, v[4], v[5], v[6], v[7]);
  for (int i = 0; i < 4; ++i) {
    hn::StoreU(hn::ConcatLowerLower(d, v[4 + i], v[i]), d, to.data + i * to.stride);
    hn::StoreU(hn::ConcatUpperUpper(d, v[4 + i], v[i]), d, to.data + (4 + i) * to.stride);
  }
}
#endif

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Highway has no shuffle of blocks from two vectors.
HWY_INLINE void TransposeTile(Tile<16>, const Source& from, const Target& to) {
  const hn::FixedTag<float, 16> d;
  hn::Vec<decltype(d)> v[16];
  for (int i = 0; i < 16; ++i) v[i] = hn::LoadU(d, from.data + i * from.stride);
  for (int i = 0; i < 16; i += 4) TransposeBlocks(d, v[i], v[i + 1], v[i + 2], v[i + 3]);
  float* row = to.data;
  for (int i = 0; i < 4; ++i, row += to.stride) {
    const __m512 even01 = _mm512_shuffle_f32x4(v[i].raw, v[4 + i].raw, 0x88);
    const __m512 odd01 = _mm512_shuffle_f32x4(v[i].raw, v[4 + i].raw, 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(v[8 + i].raw, v[12 + i].raw, 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(v[8 + i].raw, v[12 + i].raw, 0xdd);
    _mm512_storeu_ps(row, _mm512_shuffle_f32x4(even01, even23, 0x88));
    _mm512_storeu_ps(row + 4 * to.stride, _mm512_shuffle_f32x4(odd01, odd23, 0x88));
    _mm512_storeu_ps(row + 8 * to.stride, _mm512_shuffle_f32x4(even01, even23, 0xdd));
    _mm512_storeu_ps(row + 12 * to.stride, _mm512_shuffle_f32x4(odd01, odd23, 0xdd));
  }
}
#endif

// Along the rows of `to`.
template <int kSide>
HWY_INLINE void TransposeInTiles(Tile<kSide> tile, const Source& from, int64_t rows,
                                 int64_t columns, const Target& to) {
  for (int64_t column = 0; column < columns; column += kSide) {
    const int64_t c = std::min(column, columns - kSide);
    for (int64_t row = 0; row < rows; row += kSide) {
      const int64_t r = std::min(row, rows - kSide);
      TransposeTile(tile, {from.data + r * from.stride + c, from.stride},
                    {to.data + c * to.stride + r, to.stride});
    }
  }
}

// to[c][r] = from[r][c], bit for bit, in the largest tiles that fit; the last ones overlap those
// before, so that nothing beside the matrix is touched. (psroipool regroups [2,14,14,189] in 20 us
// with tiles of 8, in 28 us with tiles of 4; maps beyond the L2 gain nothing.)
HWY_INLINE void Transpose(const Source& from, int64_t rows, int64_t columns, const Target& to) {
  const int64_t side = std::min(rows, columns);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (side >= 16) return TransposeInTiles(Tile<16>(), from, rows, columns, to);
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if (side >= 8) return TransposeInTiles(Tile<8>(), from, rows, columns, to);
#endif
  if (side >= 4) return TransposeInTiles(Tile<4>(), from, rows, columns, to);
  TransposeInTiles(Tile<1>(), from, rows, columns, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CORE_TRANSPOSE_INL_H_
