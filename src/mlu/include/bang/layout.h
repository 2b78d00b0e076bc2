// SPDX-License-Identifier: Apache-2.0
// Selection, lookup and changes of layout.
#pragma once

#include <algorithm>
#include <vector>

#include "bang/comparison.h"

namespace bang {

template <class Test>
std::vector<size_t> IndicesWhere(unsigned n, const Test& test) {
  std::vector<size_t> indices;
  for (unsigned i = 0; i < n; ++i) {
    if (test(i)) indices.push_back(i);
  }
  return indices;
}

// Packs the elements that `test` selects and returns their number. 2xx pads the result to 128
// bytes with zeros and may touch the rest of d, which counts as unwritten.
template <class T, class Test>
unsigned Pack(const Instruction& instruction, T* d, const T* src, const Operand& mask, unsigned n,
              Where where, const Test& test) {
  const Issued issued = Issue(instruction, n, {Out("dst", d, n), In("src", src, n), mask}, where);
  if (!issued) return 0;
  const std::vector<size_t> packed = IndicesWhere(n, test);
  constexpr size_t kLanes = 128 / sizeof(T);
  const size_t padded = (packed.size() + kLanes - 1) / kLanes * kLanes;
  Rearrange(issued, d, n, src, [&](size_t i) {
    if (i < packed.size()) return packed[i];
    return !issued.is_2xx ? kKeep : i < padded ? kZero : kLost;
  });
  return static_cast<unsigned>(packed.size());
}

// Returns the index of the first or last element that is not zero; 0xffffffff if there is none.
template <class T>
unsigned Find1(const T* src, unsigned n, bool last) {
  for (unsigned k = 0; k < n; ++k) {
    const unsigned i = last ? n - 1 - k : k;
    if (IsTrue(src[i])) return i;
  }
  return ~0u;
}

inline Operand Bits(const char* role, const void* mask, unsigned n) {
  return Deciding(role, static_cast<const char*>(mask), n / 8);
}

namespace intrinsics {

template <Float T>
unsigned __bang_filter(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {
  return Pack({"__bang_filter", kSelection}, d, src, Deciding("index", index, n), n, where,
              [index](unsigned i) { return IsTrue(index[i]); });
}
template <Float T>
unsigned __bang_filter_bitindex(T* d, const T* src, const void* bitmask, unsigned n, BANG_WHERE) {
  RequireBits("__bang_filter_bitindex", n, 512, where);
  return Pack({"__bang_filter_bitindex", kSelection, k2xx64, kEverywhere}, d, src,
              Bits("bitmask", bitmask, n), n, where,
              [bitmask](unsigned i) { return BitAt(bitmask, i); });
}
template <Float T>
void __bang_collect(T* d, const T* src, const T* mask, unsigned n, BANG_WHERE) {
  static_cast<void>(__bang_filter(d, src, mask, n, where));
}

// Bytes 0-3: the count; bytes 4-127: zero; the packed elements from byte 128.
template <Float T>
void __bang_select(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {
  constexpr size_t kLanes = 128 / sizeof(T);
  const Issued issued =
      Issue({"__bang_select", kSelection, kAll128}, n,
            {Out("dst", d, n + kLanes), In("src", src, n), Deciding("index", index, n)}, where);
  if (!issued) return;
  const auto packed = IndicesWhere(n, [index](unsigned i) { return IsTrue(index[i]); });
  Rearrange(issued, d, kLanes + packed.size(), src,
            [&](size_t i) { return i < kLanes ? kZero : packed[i - kLanes]; });
  issued.Put(d, static_cast<uint32_t>(packed.size()), true);
}

// name(src, n) returns the result; the old form name(d, src, n) writes it to d[0].
#define BANG_REDUCTION(name, result)                                                       \
  template <Float T>                                                                       \
  unsigned name(const T* src, unsigned n, BANG_WHERE) {                                    \
    const Issued issued = Issue({#name, kSelection}, n, {Deciding("src", src, n)}, where); \
    return issued ? static_cast<unsigned>(result) : 0;                                     \
  }                                                                                        \
  template <Float T>                                                                       \
  void name(unsigned* d, const T* src, unsigned n, BANG_WHERE) {                           \
    const Issued issued = Issue({#name, kSelection, kNoRule, kEverywhere}, n,              \
                                {Out("dst", d, 1), In("src", src, n)}, where);             \
    if (issued) issued.Put(d, static_cast<unsigned>(result), issued.all_written());        \
  }
BANG_REDUCTION(__bang_count, std::count_if(src, src + n, IsTrue<T>))
BANG_REDUCTION(__bang_findfirst1, Find1(src, n, false))
BANG_REDUCTION(__bang_findlast1, Find1(src, n, true))

inline unsigned __bang_count_bitindex(const void* src, unsigned n, BANG_WHERE) {
  RequireBits("__bang_count_bitindex", n, 512, where);
  const Issued issued = Issue({"__bang_count_bitindex", kSelection, k2xx64, kEverywhere}, n,
                              {Bits("src", src, n)}, where);
  unsigned count = 0;
  for (unsigned i = 0; issued && i < n; ++i) count += BitAt(src, i);
  return count;
}

// Copies byte i where bit i of mask is 1.
inline void __bang_maskmove(void* d, const void* src, const void* mask, unsigned size, BANG_WHERE) {
  RequireBits("__bang_maskmove", size, 1024, where);
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  const Issued issued =
      Issue({"__bang_maskmove", kSelection, k2xx, kEverywhere}, size,
            {Out("dst", to, size), In("src", from, size), Bits("mask", mask, size)}, where);
  if (issued)
    Rearrange(issued, to, size, from, [mask](size_t i) { return BitAt(mask, i) ? i : kKeep; });
}

// d[i] = table[index[i]]; d[i] keeps its value where index[i] >= table_length.
#define BANG_LUT(D, I)                                                                            \
  inline void __bang_lut(D* d, const I* index, const D* table, unsigned n, unsigned table_length, \
                         BANG_WHERE) {                                                            \
    Require(table_length % 64 == 0 && table_length > 0, "__bang_lut", where,                      \
            "table_length must be a positive multiple of 64");                                    \
    const Issued issued = Issue({"__bang_lut", kSelection, kNoRule, kFrom322}, n,                 \
                                {Out("dst", d, n), Deciding("index", index, n),                   \
                                 In("table", table, table_length, kNoAlias)},                     \
                                where);                                                           \
    if (issued)                                                                                   \
      Rearrange(issued, d, n, table,                                                              \
                [=](size_t i) { return index[i] < table_length ? size_t{index[i]} : kKeep; });    \
  }
BANG_LUT(int, unsigned)
BANG_LUT(short, unsigned short)

// name(d, src, height, width): d[i] = src[from].
#define BANG_MATRIX(name, rule, from)                                                         \
  template <Element T>                                                                        \
  void name(T* d, const T* src, unsigned height, unsigned width, BANG_WHERE) {                \
    const size_t n = size_t{height} * width;                                                  \
    const Issued issued = Issue({#name, kLayout, rule, kEverywhere}, n,                       \
                                {Out("dst", d, n), In("src", src, n, kNoAlias)}, where);      \
    Require(!Is2xx() || (height * sizeof(T) % 64 == 0 && width * sizeof(T) % 64 == 0), #name, \
            where, "height and width must be multiples of 64 bytes on 2xx");                  \
    if (issued) Rearrange(issued, d, n, src, [=](size_t i) { return from; });                 \
  }
BANG_MATRIX(__bang_transpose, k2xx64, i % height * width + i / height)
BANG_MATRIX(__bang_mirror, k2xx, i / width * width + (width - 1 - i % width))
BANG_MATRIX(__bang_rotate90, k2xx, (height - 1 - i % height) * width + i / height)
BANG_MATRIX(__bang_rotate180, k2xx, n - 1 - i)
BANG_MATRIX(__bang_rotate270, k2xx, i % height * width + (width - 1 - i / height))

// Zero padding of an HWC block.
template <Element T>
void __bang_pad(T* d, const T* src, unsigned channel, unsigned height, unsigned width, unsigned top,
                unsigned bottom, unsigned left, unsigned right, BANG_WHERE) {
  const size_t out_width = left + width + right;
  const size_t n = (top + height + bottom) * out_width * channel;
  const size_t src_n = size_t{height} * width * channel;
  const Issued issued = Issue({"__bang_pad", kLayout, kNoRule, kEverywhere}, n,
                              {Out("dst", d, n), In("src", src, src_n, kNoAlias)}, where);
  if (!issued) return;
  Rearrange(issued, d, n, src, [=](size_t i) {
    const size_t h = i / channel / out_width - top, w = i / channel % out_width - left;
    const bool is_inside = h < height && w < width;  // a negative difference is a large number
    return is_inside ? (h * width + w) * channel + i % channel : kZero;
  });
}

}  // namespace intrinsics
}  // namespace bang
