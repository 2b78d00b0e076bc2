// SPDX-License-Identifier: Apache-2.0
// Masks that lie close together, as sorted ones do, in AVX-512: the kernel rows of a whole step are
// within a few vectors of the feature, and every column of the step is a permutation of those. A
// third of an instruction an element, where loads for each mask and transposes take one and a half.
// Included once per instruction set.

#if defined(MLUOP_OPS_MASKED_IM2COL_CPU_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_MASKED_IM2COL_CPU_WINDOW_INL_H_
#undef MLUOP_OPS_MASKED_IM2COL_CPU_WINDOW_INL_H_
#else
#define MLUOP_OPS_MASKED_IM2COL_CPU_WINDOW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "ops/masked_im2col/cpu/calls.h"

// Highway 1.0.3 has no permutation of two vectors.
#undef MLUOP_HAS_WINDOWS
#define MLUOP_HAS_WINDOWS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

#if MLUOP_HAS_WINDOWS

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_im2col {
namespace HWY_NAMESPACE {

// Vectors of T by its size. A place is an element's number in two vectors; bits above are ignored.
template <typename T>
struct Window;

template <>
struct Window<float> {
  using Mask = __mmask16;

  static HWY_INLINE __m512i Places(const int64_t* corner, int64_t low) {
    const __m512i first = _mm512_set1_epi64(low);
    const auto part = [&](int i) {
      return _mm512_cvtepi64_epi32(_mm512_sub_epi64(_mm512_loadu_si512(corner + i), first));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(part(0)), part(8), 1);
  }
  static HWY_INLINE __m512i Shifted(__m512i places, int k) {
    return _mm512_add_epi32(places, _mm512_set1_epi32(k));
  }
  static HWY_INLINE Mask Beyond(__m512i places) {
    return _mm512_test_epi32_mask(places, _mm512_set1_epi32(32));
  }
  static HWY_INLINE __m512i Take(Mask mask, __m512i a, __m512i places, __m512i b) {
    return _mm512_maskz_permutex2var_epi32(mask, a, places, b);
  }
  // As in step-inl.h: right as an unsigned number, whatever the sum.
  static HWY_INLINE Mask Inside(const int32_t* index, int64_t shift, int size) {
    const __m512i sum =
        _mm512_add_epi32(_mm512_loadu_si512(index), _mm512_set1_epi32(static_cast<int32_t>(shift)));
    return _mm512_cmplt_epu32_mask(sum, _mm512_set1_epi32(size));
  }
};

template <>
struct Window<uint16_t> {
  using Mask = __mmask32;

  static HWY_INLINE __m512i Places(const int64_t* corner, int64_t low) {
    const __m256i half = _mm512_cvtepi32_epi16(Window<float>::Places(corner, low));
    const __m256i rest = _mm512_cvtepi32_epi16(Window<float>::Places(corner + 16, low));
    return _mm512_inserti64x4(_mm512_castsi256_si512(half), rest, 1);
  }
  static HWY_INLINE __m512i Shifted(__m512i places, int k) {
    return _mm512_add_epi16(places, _mm512_set1_epi16(static_cast<int16_t>(k)));
  }
  static HWY_INLINE Mask Beyond(__m512i places) {
    return _mm512_test_epi16_mask(places, _mm512_set1_epi16(64));
  }
  static HWY_INLINE __m512i Take(Mask mask, __m512i a, __m512i places, __m512i b) {
    return _mm512_maskz_permutex2var_epi16(mask, a, places, b);
  }
  static HWY_INLINE Mask Inside(const int32_t* index, int64_t shift, int size) {
    return Mask{Window<float>::Inside(index, shift, size)} |
           Mask{Window<float>::Inside(index + 16, shift, size)} << 16;
  }
};

// Elements of two vectors, in which all places of a narrow window are; a wide one has four.
template <typename T>
constexpr int64_t kNarrow = 128 / sizeof(T);

// Whether four vectors from a kernel element on stay inside the feature, for all kernel elements.
template <typename T>
bool WindowReadable(const Problem& p, const Step& step, int64_t channel) {
  const int64_t end = step.low + (p.kernel_h - 1) * int64_t{p.width} + p.kernel_w + 2 * kNarrow<T>;
  return channel * p.plane() + step.low >= 0 && (channel - p.channels) * p.plane() + end <= 0;
}

// Kernel rows of a step, kCount columns each: row r is at from + r*width, and goes to
// to + (r*row_step + k)*stride. Row 0 is kernel row i, column 0 kernel column j.
template <typename T>
struct WindowRows {
  const T* from;
  T* to;
  int64_t rows, row_step, stride;
  const int64_t* corner;
  const int32_t *top, *left;
  int64_t i, j;
};

template <int kCount, bool kWide, typename T>
HWY_INLINE void CopyWindow(const Problem& p, const Step& step, const WindowRows<T>& w) {
  using V = Window<T>;
  constexpr int64_t kLanes = 64 / sizeof(T);
  const __m512i first = V::Places(w.corner, step.low);
  __m512i places[kCount];
  typename V::Mask columns[kCount];
  for (int k = 0; k < kCount; ++k) {
    places[k] = V::Shifted(first, k);
    columns[k] = V::Inside(w.left, w.j + k, p.width);
  }
  const T* from = w.from;
  T* to = w.to;
  for (int64_t r = 0; r < w.rows; ++r, from += p.width, to += w.row_step * w.stride) {
    const auto row = V::Inside(w.top, w.i + r, p.height);
    const auto load = [&](int64_t v) { return _mm512_loadu_si512(from + v * kLanes); };
    const __m512i a = load(0), b = load(1);
    for (int k = 0; k < kCount; ++k) {
      const auto keep = static_cast<typename V::Mask>(row & columns[k]);
      __m512i v;
      if constexpr (kWide) {
        const auto beyond = V::Beyond(places[k]);
        v = _mm512_or_si512(V::Take(keep & ~beyond, a, places[k], b),
                            V::Take(keep & beyond, load(2), places[k], load(3)));
      } else {
        v = V::Take(keep, a, places[k], b);
      }
      // The line in which the next step's vector ends: 2.0 to 1.4 x floor on C256 20x20 M200 k3, hot,
      // where vectors lie across two lines, 1.6 to 1.3 with M208, where they do not.
      _mm_prefetch(reinterpret_cast<const char*>(to + k * w.stride + 2 * kLanes - 1), _MM_HINT_T0);
      _mm512_storeu_si512(to + k * w.stride, v);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_im2col
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_HAS_WINDOWS
#endif  // MLUOP_OPS_MASKED_IM2COL_CPU_WINDOW_INL_H_
