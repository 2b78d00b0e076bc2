// SPDX-License-Identifier: Apache-2.0
// Selection, lookup and changes of layout.
#pragma once

#include <vector>

#include "bang/comparison.h"

namespace bang {

// Packs the elements that `test` selects and returns their number. 2xx pads the result to 128
// bytes with zeros and may touch the rest of d, which counts as unwritten.
template <class T, class Test>
unsigned Pack(T* d, const T* src, unsigned n, const Test& test) {
  unsigned count = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (!test(i)) continue;
    std::memcpy(StateOf(d + count), StateOf(src + i), sizeof(T));
    d[count++] = src[i];
  }
  if (!Is2xx()) return count;
  constexpr unsigned kLanes = 128 / sizeof(T);
  const unsigned padded = (count + kLanes - 1) / kLanes * kLanes;
  std::fill(d + count, d + padded, T(0));
  std::memset(StateOf(d + count), 1, (padded - count) * sizeof(T));
  std::memset(static_cast<void*>(d + padded), kPoison, (n - padded) * sizeof(T));
  std::memset(StateOf(d + padded), 0, (n - padded) * sizeof(T));
  return count;
}

}  // namespace bang

template <::bang::Float T>
unsigned __bang_filter(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {
  using namespace bang;
  const In mask = {"index", index, n, kNoAlias};
  const Issued issued = Issue({"__bang_filter", kSelection}, Flow::kCustom, n,
                              {Out(d, n), In{"src", src, n}, mask}, where);
  if (!issued) return 0;
  RequireWritten("__bang_filter", mask, where);
  return Pack(d, src, n, [&](unsigned i) { return IsTrue(index[i]); });
}

template <::bang::Float T>
unsigned __bang_filter_bitindex(T* d, const T* src, const void* bitmask, unsigned n, BANG_WHERE) {
  using namespace bang;
  RequireBits("__bang_filter_bitindex", n, 512, where);
  const In bits = {"bitmask", static_cast<const char*>(bitmask), n / 8, kNoAlias};
  const Issued issued = Issue({"__bang_filter_bitindex", kSelection, k2xx64, kEverywhere},
                              Flow::kCustom, n, {Out(d, n), In{"src", src, n}, bits}, where);
  if (!issued) return 0;
  RequireWritten("__bang_filter_bitindex", bits, where);
  return Pack(d, src, n, [&](unsigned i) { return BitAt(bitmask, i); });
}

template <::bang::Float T>
void __bang_collect(T* d, const T* src, const T* mask, unsigned n, BANG_WHERE) {
  static_cast<void>(__bang_filter(d, src, mask, n, where));
}

// Bytes 0-3: the count; bytes 4-127: zero; the packed elements from byte 128.
template <::bang::Float T>
void __bang_select(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {
  using namespace bang;
  const In mask = {"index", index, n, kNoAlias};
  const Issued issued = Issue({"__bang_select", kSelection, kAll128}, Flow::kCustom, n,
                              {Out(d, n + 128 / sizeof(T)), In{"src", src, n}, mask}, where);
  if (!issued) return;
  RequireWritten("__bang_select", mask, where);
  std::vector<T> packed;  // d may be src
  std::vector<uint8_t> states;
  for (unsigned i = 0; i < n; ++i) {
    if (!IsTrue(index[i])) continue;
    packed.push_back(src[i]);
    states.insert(states.end(), StateOf(src + i), StateOf(src + i + 1));
  }
  const auto count = static_cast<uint32_t>(packed.size());
  std::memset(static_cast<void*>(d), 0, 128);
  std::memset(StateOf(d), 1, 128);
  std::memcpy(static_cast<void*>(d), &count, sizeof(count));
  std::copy(packed.begin(), packed.end(), d + 128 / sizeof(T));
  std::copy(states.begin(), states.end(), StateOf(d) + 128);
}

// name(src, n) returns the result; the old form name(d, src, n) writes it to d[0].
#define BANG_REDUCTION(name, start, step)                                                 \
  template <::bang::Float T>                                                              \
  unsigned name(const T* src, unsigned n, BANG_WHERE) {                                   \
    using namespace bang;                                                                 \
    unsigned result = start;                                                              \
    const Issued issued =                                                                 \
        Issue({#name, kSelection}, Flow::kScalar, n, {In{"src", src, n}}, where);         \
    for (unsigned i = 0; issued && i < n; ++i) step;                                      \
    return result;                                                                        \
  }                                                                                       \
  template <::bang::Float T>                                                              \
  void name(unsigned* d, const T* src, unsigned n, BANG_WHERE) {                          \
    using namespace bang;                                                                 \
    unsigned result = start;                                                              \
    const Issued issued = Issue({#name, kSelection, kNoRule, kEverywhere}, Flow::kAll, n, \
                                {Out(d, 1), In{"src", src, n}}, where);                   \
    if (!issued) return;                                                                  \
    for (unsigned i = 0; i < n; ++i) step;                                                \
    d[0] = result;                                                                        \
  }
BANG_REDUCTION(__bang_count, 0, result += IsTrue(src[i]))
BANG_REDUCTION(__bang_findfirst1, ~0u, if (result == ~0u && IsTrue(src[i])) result = i)
BANG_REDUCTION(__bang_findlast1, ~0u, if (IsTrue(src[i])) result = i)
#undef BANG_REDUCTION

inline unsigned __bang_count_bitindex(const void* src, unsigned n, BANG_WHERE) {
  using namespace bang;
  RequireBits("__bang_count_bitindex", n, 512, where);
  unsigned count = 0;
  const Issued issued =
      Issue({"__bang_count_bitindex", kSelection, k2xx64, kEverywhere}, Flow::kScalar, n,
            {In{"src", static_cast<const char*>(src), n / 8}}, where);
  for (unsigned i = 0; issued && i < n; ++i) count += BitAt(src, i);
  return count;
}

// Copies byte i where bit i of mask is 1.
inline void __bang_maskmove(void* d, const void* src, const void* mask, unsigned size, BANG_WHERE) {
  using namespace bang;
  RequireBits("__bang_maskmove", size, 1024, where);
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  const In bits = {"mask", static_cast<const char*>(mask), size / 8, kNoAlias};
  const Issued issued = Issue({"__bang_maskmove", kSelection, k2xx, kEverywhere}, Flow::kCustom,
                              size, {Out(to, size), In{"src", from, size}, bits}, where);
  if (!issued) return;
  RequireWritten("__bang_maskmove", bits, where);
  Permute(to, from, [&](char* t, const char* f) {
    for (unsigned i = 0; i < size; ++i) {
      if (BitAt(mask, i)) t[i] = f[i];
    }
  });
}

// d[i] = table[index[i]]; d[i] keeps its value where index[i] >= table_length.
#define BANG_LUT(D, I)                                                                            \
  inline void __bang_lut(D* d, const I* index, const D* table, unsigned n, unsigned table_length, \
                         BANG_WHERE) {                                                            \
    using namespace bang;                                                                         \
    Require(table_length % 64 == 0 && table_length > 0, "__bang_lut", where,                      \
            "table_length must be a positive multiple of 64");                                    \
    const In indices = {"index", index, n, kNoAlias};                                             \
    const Issued issued =                                                                         \
        Issue({"__bang_lut", kSelection, kNoRule, kFrom322}, Flow::kCustom, n,                    \
              {Out(d, n), indices, In{"table", table, table_length, kNoAlias}}, where);           \
    if (!issued) return;                                                                          \
    RequireWritten("__bang_lut", indices, where);                                                 \
    for (unsigned i = 0; i < n; ++i) {                                                            \
      if (index[i] >= table_length) continue;                                                     \
      std::memcpy(StateOf(d + i), StateOf(table + index[i]), sizeof(D));                          \
      d[i] = table[index[i]];                                                                     \
    }                                                                                             \
  }
BANG_LUT(int, unsigned)
BANG_LUT(short, unsigned short)
#undef BANG_LUT

// name(d, src, height, width): src[h][w] goes to d[place].
#define BANG_MATRIX(name, rule, place)                                                        \
  template <::bang::Element T>                                                                \
  void name(T* d, const T* src, unsigned height, unsigned width, BANG_WHERE) {                \
    using namespace bang;                                                                     \
    const size_t n = size_t{height} * width;                                                  \
    const Issued issued = Issue({#name, kLayout, rule, kEverywhere}, Flow::kCustom, n,        \
                                {Out(d, n), In{"src", src, n, kNoAlias}}, where);             \
    if (!issued) return;                                                                      \
    Require(!Is2xx() || (height * sizeof(T) % 64 == 0 && width * sizeof(T) % 64 == 0), #name, \
            where, "height and width must be multiples of 64 bytes on 2xx");                  \
    Permute(d, src, [&](T* to, const T* from) {                                               \
      for (size_t h = 0; h < height; ++h) {                                                   \
        for (size_t w = 0; w < width; ++w)                                                    \
          std::memcpy(to + (place), from + h * width + w, sizeof(T));                         \
      }                                                                                       \
    });                                                                                       \
  }
BANG_MATRIX(__bang_transpose, k2xx64, w* height + h)
BANG_MATRIX(__bang_mirror, k2xx, h* width + (width - 1 - w))
BANG_MATRIX(__bang_rotate90, k2xx, w* height + (height - 1 - h))
BANG_MATRIX(__bang_rotate180, k2xx, (height - 1 - h) * width + (width - 1 - w))
BANG_MATRIX(__bang_rotate270, k2xx, (width - 1 - w) * height + h)
#undef BANG_MATRIX

// NRAM to NRAM in the Compute queue. The operands may overlap.
inline void __bang_move(void* d, const void* src, unsigned size, BANG_WHERE) {
  using namespace bang;
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  const Issued issued = Issue({"__bang_move", kLayout, k2xx, kEverywhere}, Flow::kCustom, size,
                              {Out(to, size), In{"src", from, size, Alias::kAnywhere}}, where);
  if (!issued) return;
  Permute(to, from, [&](char* t, const char* f) { std::memmove(t, f, size); });
}

// Zero padding of an HWC block.
template <::bang::Element T>
void __bang_pad(T* d, const T* src, unsigned channel, unsigned height, unsigned width, unsigned top,
                unsigned bottom, unsigned left, unsigned right, BANG_WHERE) {
  using namespace bang;
  const size_t out_width = left + width + right;
  const size_t n = (top + height + bottom) * out_width * channel;
  const Issued issued =
      Issue({"__bang_pad", kLayout, kNoRule, kEverywhere}, Flow::kCustom, n,
            {Out(d, n), In{"src", src, size_t{height} * width * channel, kNoAlias}}, where);
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
