// SPDX-License-Identifier: Apache-2.0
// Selection, lookup and changes of layout.
#pragma once

#include <bit>
#include <cstring>

#include "bang/comparison.h"

namespace bang {

inline bool BitAt(const void* mask, size_t i) {
  return (static_cast<const unsigned char*>(mask)[i / 8] >> (i % 8) & 1) != 0;
}

// Packs the elements that `test` selects and returns their number.
template <class T, class Test>
unsigned Pack(T* d, const T* src, unsigned n, const Test& test) {
  unsigned count = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (!test(i)) continue;
    std::memcpy(StateOf(d + count), StateOf(src + i), sizeof(T));
    d[count++] = src[i];
  }
  return count;
}

BANG_API void RequireWritten(const char* name, const char* role, const void* data, size_t bytes,
                             Where where);

}  // namespace bang

template <::bang::Float T>
unsigned __bang_filter(T* d, const T* src, const T* index, unsigned n,
                       ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_filter", Kind::kSelection};
  const Issued issued =
      Issue(kInstruction, Flow::kCustom, n,
            {Out(d, n), In("src", src, n), In("index", index, n, kNoAlias)}, where);
  if (!issued) return 0;
  RequireWritten("__bang_filter", "index", index, n * sizeof(T), where);
  return Pack(d, src, n, [&](unsigned i) { return IsTrue(index[i]); });
}

template <::bang::Float T>
unsigned __bang_filter_bitindex(T* d, const T* src, const void* bitmask, unsigned n,
                                ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_filter_bitindex", Kind::kSelection,
                                               Rule::kNone};
  RequireBitIndex("__bang_filter_bitindex", n, where);
  const auto* const bits = static_cast<const unsigned char*>(bitmask);
  const Issued issued =
      Issue(kInstruction, Flow::kCustom, n,
            {Out(d, n), In("src", src, n), In("bitmask", bits, n / 8, kNoAlias)}, where);
  if (!issued) return 0;
  RequireWritten("__bang_filter_bitindex", "bitmask", bits, n / 8, where);
  return Pack(d, src, n, [&](unsigned i) { return BitAt(bits, i); });
}

template <::bang::Float T>
void __bang_collect(T* d, const T* src, const T* mask, unsigned n,
                    ::bang::Where where = ::bang::Where()) {
  static_cast<void>(__bang_filter(d, src, mask, n, where));
}

// Bytes 0-3: the count; bytes 4-127: zero; the packed elements from byte 128.
template <::bang::Float T>
void __bang_select(T* d, const T* src, const T* index, unsigned n,
                   ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_select", Kind::kSelection, Rule::kAll128};
  const Issued issued = Issue(
      kInstruction, Flow::kCustom, n,
      {Out(d, n + 128 / sizeof(T)), In("src", src, n, kNoAlias), In("index", index, n, kNoAlias)},
      where);
  if (!issued) return;
  RequireWritten("__bang_select", "index", index, n * sizeof(T), where);
  const unsigned count =
      Pack(d + 128 / sizeof(T), src, n, [&](unsigned i) { return IsTrue(index[i]); });
  std::memset(d, 0, 128);
  std::memcpy(d, &count, sizeof(count));
  std::memset(StateOf(d), 1, 128);
}

#define BANG_REDUCTION(name, Types, start, step)                                             \
  template <Types T>                                                                         \
  unsigned name(const T* src, unsigned n, ::bang::Where where = ::bang::Where()) {           \
    using namespace bang;                                                                    \
    static constexpr Instruction kInstruction = {#name, Kind::kSelection};                   \
    unsigned result = start;                                                                 \
    const Issued issued = Issue(kInstruction, Flow::kScalar, n, {In("src", src, n)}, where); \
    if (!issued) return result;                                                              \
    for (unsigned i = 0; i < n; ++i) step;                                                   \
    return result;                                                                           \
  }                                                                                          \
  /* The old form writes the result to d[0]. */                                              \
  template <Types T>                                                                         \
  void name(unsigned* d, const T* src, unsigned n, ::bang::Where where = ::bang::Where()) {  \
    using namespace bang;                                                                    \
    static constexpr Instruction kInstruction = {#name, Kind::kSelection};                   \
    unsigned result = start;                                                                 \
    const Issued issued =                                                                    \
        Issue(kInstruction, Flow::kAll, n, {Out(d, 1), In("src", src, n)}, where);           \
    if (!issued) return;                                                                     \
    for (unsigned i = 0; i < n; ++i) step;                                                   \
    d[0] = result;                                                                           \
  }
BANG_REDUCTION(__bang_count, ::bang::Float, 0, result += IsTrue(src[i]))
BANG_REDUCTION(__bang_findfirst1, ::bang::Float, 0xffffffffu,
               if (result == 0xffffffffu && IsTrue(src[i])) result = i)
BANG_REDUCTION(__bang_findlast1, ::bang::Float, 0xffffffffu, if (IsTrue(src[i])) result = i)
#undef BANG_REDUCTION

inline unsigned __bang_count_bitindex(const void* src, unsigned n,
                                      ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_count_bitindex", Kind::kSelection,
                                               Rule::kNone};
  RequireBitIndex("__bang_count_bitindex", n, where);
  const auto* const bits = static_cast<const unsigned char*>(src);
  unsigned count = 0;
  const Issued issued = Issue(kInstruction, Flow::kScalar, n, {In("src", bits, n / 8)}, where);
  if (!issued) return 0;
  for (unsigned i = 0; i < n; ++i) count += BitAt(bits, i);
  return count;
}

// Copies byte i where bit i of mask is 1.
inline void __bang_maskmove(void* d, const void* src, const void* mask, unsigned size,
                            ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_maskmove", Kind::kSelection, Rule::kNone};
  RequireBitIndex("__bang_maskmove", size, where);
  auto* const to = static_cast<unsigned char*>(d);
  const auto* const from = static_cast<const unsigned char*>(src);
  const auto* const bits = static_cast<const unsigned char*>(mask);
  const Issued issued =
      Issue(kInstruction, Flow::kCustom, size,
            {Out(to, size), In("src", from, size), In("mask", bits, size / 8, kNoAlias)}, where);
  if (!issued) return;
  RequireWritten("__bang_maskmove", "mask", bits, size / 8, where);
  Permute(to, from, [&](unsigned char* t, const unsigned char* f) {
    for (unsigned i = 0; i < size; ++i) {
      if (BitAt(bits, i)) t[i] = f[i];
    }
  });
}

// d[i] = table[index[i]]; d[i] keeps its value where index[i] >= table_length.
#define BANG_LUT(D, I)                                                                            \
  inline void __bang_lut(D* d, const I* index, const D* table, unsigned n, unsigned table_length, \
                         ::bang::Where where = ::bang::Where()) {                                 \
    using namespace bang;                                                                         \
    static constexpr Instruction kInstruction = {"__bang_lut", Kind::kSelection, Rule::kNone,     \
                                                 kFrom322};                                       \
    Require(table_length % 64 == 0 && table_length > 0, "__bang_lut", where,                      \
            "table_length must be a positive multiple of 64");                                    \
    const Issued issued = Issue(                                                                  \
        kInstruction, Flow::kCustom, n,                                                           \
        {Out(d, n), In("index", index, n, kNoAlias), In("table", table, table_length, kNoAlias)}, \
        where);                                                                                   \
    if (!issued) return;                                                                          \
    RequireWritten("__bang_lut", "index", index, n * sizeof(I), where);                           \
    for (unsigned i = 0; i < n; ++i) {                                                            \
      if (index[i] >= table_length) continue;                                                     \
      std::memcpy(StateOf(d + i), StateOf(table + index[i]), sizeof(D));                          \
      d[i] = table[index[i]];                                                                     \
    }                                                                                             \
  }
BANG_LUT(int, unsigned)
BANG_LUT(short, unsigned short)
#undef BANG_LUT

// d and src are matrices; `row` and `column` give the place of src[h][w] in d.
#define BANG_MATRIX(name, rule, place)                                                          \
  template <::bang::Element T>                                                                  \
  void name(T* d, const T* src, unsigned height, unsigned width,                                \
            ::bang::Where where = ::bang::Where()) {                                            \
    using namespace bang;                                                                       \
    static constexpr Instruction kInstruction = {#name, Kind::kLayout, Rule::rule};             \
    const size_t n = size_t{height} * width;                                                    \
    const Issued issued =                                                                       \
        Issue(kInstruction, Flow::kCustom, n, {Out(d, n), In("src", src, n, kNoAlias)}, where); \
    if (!issued) return;                                                                        \
    Require2xxRows(#name, height * sizeof(T), width * sizeof(T), where);                        \
    Permute(d, src, [&](T* to, const T* from) {                                                 \
      for (size_t h = 0; h < height; ++h) {                                                     \
        for (size_t w = 0; w < width; ++w)                                                      \
          std::memcpy(to + (place), from + h * width + w, sizeof(T));                           \
      }                                                                                         \
    });                                                                                         \
  }

namespace bang {

// 2xx: rows and columns of a matrix are multiples of 64 bytes.
inline void Require2xxRows(const char* name, size_t column_bytes, size_t row_bytes, Where where) {
  if (Is2xx() && (column_bytes % 64 != 0 || row_bytes % 64 != 0))
    Violate(name, where, "height and width must be multiples of 64 bytes, got %zu and %zu",
            column_bytes, row_bytes);
}

}  // namespace bang

BANG_MATRIX(__bang_transpose, kNone, w* height + h)
BANG_MATRIX(__bang_mirror, k2xx, h* width + (width - 1 - w))
BANG_MATRIX(__bang_rotate90, k2xx, w* height + (height - 1 - h))
BANG_MATRIX(__bang_rotate180, k2xx, (height - 1 - h) * width + (width - 1 - w))
BANG_MATRIX(__bang_rotate270, k2xx, (width - 1 - w) * height + h)
#undef BANG_MATRIX

// NRAM to NRAM in the Compute queue. The operands of the 1D form may overlap.
inline void __bang_move(void* d, const void* src, unsigned size,
                        ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_move", Kind::kLayout};
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  Operand source = In("src", from, size);
  source.alias = Alias::kAnywhere;
  const Issued issued = Issue(kInstruction, Flow::kCustom, size, {Out(to, size), source}, where);
  if (!issued) return;
  Permute(to, from, [&](char* t, const char* f) { std::memmove(t, f, size); });
}

// The strided form: segnum + 1 segments of `size` bytes. dst and src must not overlap.
inline void __bang_move(void* d, const void* src, unsigned size, int dst_stride, int src_stride,
                        unsigned segnum, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_move", Kind::kLayout, Rule::kNone};
  const int64_t to_step = dst_stride, from_step = src_stride, last = segnum;
  Require(size > 0 && segnum < 65536 && from_step >= 0 && (segnum == 0 || to_step >= size),
          "__bang_move", where, "size and strides must be positive, dst_stride at least size");
  Require(Architecture() > 372 || size % 128 == 0, "__bang_move", where,
          "size must be a multiple of 128 bytes on 2xx and 372");
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  const Issued issued =
      Issue(kInstruction, Flow::kCustom, (segnum + 1) * size_t{size},
            {Out(to, static_cast<size_t>(last * to_step) + size),
             In("src", from, static_cast<size_t>(last * from_step) + size, kNoAlias)},
            where);
  if (!issued) return;
  Permute(to, from, [&](char* t, const char* f) {
    for (int64_t k = 0; k <= last; ++k) std::memcpy(t + k * to_step, f + k * from_step, size);
  });
}

// Zero padding of an HWC block.
template <::bang::Element T>
void __bang_pad(T* d, const T* src, unsigned channel, unsigned height, unsigned width, unsigned top,
                unsigned bottom, unsigned left, unsigned right,
                ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_pad", Kind::kLayout, Rule::kNone};
  const size_t out_width = left + width + right;
  const size_t n = (top + height + bottom) * out_width * channel;
  const Issued issued =
      Issue(kInstruction, Flow::kCustom, n,
            {Out(d, n), In("src", src, size_t{height} * width * channel, kNoAlias)}, where);
  if (!issued) return;
  std::memset(static_cast<void*>(d), 0, n * sizeof(T));
  std::memset(StateOf(d), 1, n * sizeof(T));
  Permute(d, src, [&](T* to, const T* from) {
    for (size_t h = 0; h < height; ++h) {
      std::memcpy(static_cast<void*>(to + ((top + h) * out_width + left) * channel),
                  from + h * width * channel, size_t{width} * channel * sizeof(T));
    }
  });
}
