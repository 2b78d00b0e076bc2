// SPDX-License-Identifier: Apache-2.0
// Transposes matrices of floats in square tiles. Included once per instruction set.

#if defined(MLUOP_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_CPU_TRANSPOSE_INL_H_
#undef MLUOP_CPU_TRANSPOSE_INL_H_
#else
#define MLUOP_CPU_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Row-major matrices in memory.
struct ConstMatrix {
  const float* data;
  int64_t stride;
};
struct Matrix {
  float* data;
  int64_t stride;
};

// The identity conversion: stores the bits of every vector unchanged.
struct Identity {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> v) const {
    return v;
  }
};

// Transposes a square tile in registers.
template <int kSide, class Convert>
HWY_INLINE void TransposeTile(const ConstMatrix& from, const Matrix& to, const Convert& convert) {
  const hn::CappedTag<float, kSide> d;
  hn::Vec<decltype(d)> v[kSide];
  for (int k = 0; k < kSide; ++k) v[k] = hn::LoadU(d, from.data + k * from.stride);
  if constexpr (kSide > 1) TransposeSquare(d, v);
// Without the pragma GCC keeps the loop and spills the tile: torchvision_ps_roi_pool backward
// on 3969x38x63 takes 1.6x the time.
#pragma GCC unroll 16
  for (int k = 0; k < kSide; ++k) hn::StoreU(convert(d, v[k]), d, to.data + k * to.stride);
}

template <int kSide>
using Side = std::integral_constant<int, kSide>;

// Calls body(Side<k>) with the side of the largest tile that fits; `side` is the matrix's shorter
// side.
template <class Body>
HWY_INLINE void WithSide([[maybe_unused]] int64_t side, const Body& body) {
#if HWY_TARGET != HWY_SCALAR
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (side >= 16) return body(Side<16>());
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  if (side >= 8) return body(Side<8>());
#endif
  if (side >= 4) return body(Side<4>());
#endif
  body(Side<1>());
}

// Iterates along the rows of `from`: repacking [1,38,63,3969] for psroipool forward took 0.94x the
// time of iterating along the rows of `to` (AVX-512, 2 threads); backward showed no difference.
template <int kSide, class Convert>
HWY_INLINE void TransposeInTiles(const ConstMatrix& from, int64_t rows, int64_t columns,
                                 const Matrix& to, const Convert& convert) {
  for (int64_t row = 0; row < rows; row += kSide) {
    const int64_t r = std::min(row, rows - kSide);
    for (int64_t column = 0; column < columns; column += kSide) {
      const int64_t c = std::min(column, columns - kSide);
      TransposeTile<kSide>({from.data + r * from.stride + c, from.stride},
                           {to.data + c * to.stride + r, to.stride}, convert);
    }
  }
}

// to[c][r] = convert(from[r][c]) in the largest tiles that fit. The last tiles overlap the previous
// ones, so nothing outside the matrix is accessed. Repacking [2,14,14,189] takes 20 us with tiles
// of 8, 28 us with tiles of 4; maps larger than the L2 gain nothing.
template <class Convert = Identity>
HWY_INLINE void Transpose(const ConstMatrix& from, int64_t rows, int64_t columns, const Matrix& to,
                          const Convert& convert = {}) {
  WithSide(std::min(rows, columns), [&](auto side) HWY_ATTR {
    TransposeInTiles<side.value>(from, rows, columns, to, convert);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_CPU_TRANSPOSE_INL_H_
