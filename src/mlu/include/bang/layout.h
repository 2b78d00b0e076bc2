// SPDX-License-Identifier: Apache-2.0
// Selection, lookup, changes of layout and pooling.
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

// Packs the elements that `test` selects behind `head` elements, which get their number and zeros.
// Returns the number. Without a head 2xx pads the result to 128 bytes with zeros and may touch the
// rest of d, which counts as unwritten.
template <class T, class Test>
unsigned Pack(const Instruction& instruction, T* d, const T* src, const Operand& mask, unsigned n,
              Where where, const Test& test, size_t head = 0) {
  const Issued issued =
      Issue(instruction, n, {Out("dst", d, head + n), In("src", src, n), mask}, where);
  if (!issued) return 0;
  const std::vector<size_t> packed = IndicesWhere(n, test);
  constexpr size_t kLanes = 128 / sizeof(T);
  const size_t padded = (packed.size() + kLanes - 1) / kLanes * kLanes;
  Rearrange(issued, d, head + n, src, [&](size_t i) {
    if (i - head < packed.size()) return packed[i - head];
    return i < head ? kZero : !issued.is_2xx || head > 0 ? kKeep : i < padded ? kZero : kLost;
  });
  if (head > 0) issued.Put(d, static_cast<uint32_t>(packed.size()), true);
  return static_cast<unsigned>(packed.size());
}

inline unsigned InPlace() { return GetChoices().allows_in_place ? kAlias : kNoAlias; }

// Returns the index of the first or last element that is not zero; 0xffffffff if there is none.
template <class T>
unsigned Find1(const T* src, unsigned n, bool last) {
  const auto found = IndicesWhere(n, [src](unsigned i) { return IsTrue(src[i]); });
  if (found.empty()) return ~0u;
  return static_cast<unsigned>(last ? found.back() : found.front());
}

// HWC pooling without padding; windows that do not fit are dropped.
struct PoolShape {
  unsigned channel, height, width, kernel_h, kernel_w, stride_w, stride_h;

  size_t out_w() const { return (width - kernel_w) / stride_w + 1; }
  size_t outputs() const { return ((height - kernel_h) / stride_h + 1) * out_w() * channel; }
  size_t inputs() const { return size_t{height} * width * channel; }
  // Returns the input index of element k of the window of output `o`.
  size_t At(size_t o, size_t k) const {
    const size_t w = o / channel % out_w() * stride_w + k % kernel_w;
    const size_t h = o / channel / out_w() * stride_h + k / kernel_w;
    return (h * width + w) * channel + o % channel;
  }
};
inline void RequirePool(const char* name, const PoolShape& p, size_t element_bytes, Where where) {
  Require(p.kernel_h > 0 && p.kernel_w > 0 && p.stride_h > 0 && p.stride_w > 0 &&
              p.kernel_h <= p.height && p.kernel_w <= p.width &&
              uint64_t{p.kernel_h} * p.kernel_w <= 65536,
          name, where, "the kernel must fit the block and have at most 65536 elements");
  Require(!Is2xx() || p.channel * element_bytes % 128 == 0, name, where,
          "channel must be a multiple of 128 bytes on 2xx");
}

enum class Pooling { kSum, kMax, kMin };

// The index inside the window.
template <class T>
using PoolIndex = std::conditional_t<std::is_same_v<T, half>, uint16_t, uint32_t>;

// Writes values or the indices of the first extremes to d. `indices`: for both; NULL: not wanted.
template <class T, class D>
void Pool(const char* name, Pooling pooling, const PoolShape& p, const T* src, D* d,
          PoolIndex<T>* indices, Where where) {
  RequirePool(name, p, sizeof(T), where);
  const auto result = [&](size_t o, Reader& read) {
    double value = double(read(src + p.At(o, 0)));
    unsigned index = 0;
    for (unsigned k = 1; k < p.kernel_h * p.kernel_w; ++k) {
      const double x = double(read(src + p.At(o, k)));
      if (pooling == Pooling::kSum) {
        value += x;
      } else if (pooling == Pooling::kMax ? x > value : x < value) {
        value = x;
        index = k;
      }
    }
    if (indices != nullptr)
      read.issued.Put(indices + o, static_cast<PoolIndex<T>>(index), read.all_written);
    return static_cast<D>(static_cast<float>(std::is_same_v<D, T> ? value : index));
  };
  const Operand more = indices != nullptr ? Out("dst", indices, p.outputs()) : Operand();
  const unsigned alias = pooling == Pooling::kSum ? InPlace() : kNoAlias;
  Compute({name, kArithmetic, k2xx, kEverywhere}, where, p.inputs(),
          {Out("dst", d, p.outputs()), In("src", src, p.inputs(), alias), more}, d, p.outputs(),
          result);
}

namespace intrinsics {

// `collect` is the old name, without the number of elements.
#define BANG_FILTER(name, Result)                                                              \
  template <Float T>                                                                           \
  Result name(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {                    \
    return Result(Pack({#name, kSelection}, d, src, In("index", index, n, kDecides), n, where, \
                       [index](unsigned i) { return IsTrue(index[i]); }));                     \
  }
BANG_FILTER(__bang_filter, unsigned)
BANG_FILTER(__bang_collect, void)
template <Float T>
unsigned __bang_filter_bitindex(T* d, const T* src, const void* bitmask, unsigned n, BANG_WHERE) {
  RequireBits("__bang_filter_bitindex", n, 512, where);
  return Pack({"__bang_filter_bitindex", kSelection, k2xx64, kEverywhere}, d, src,
              Bits("bitmask", bitmask, n), n, where,
              [bitmask](unsigned i) { return BitAt(bitmask, i); });
}

// Bytes 0-3: the count; bytes 4-127: zero; the packed elements from byte 128.
template <Float T>
void __bang_select(T* d, const T* src, const T* index, unsigned n, BANG_WHERE) {
  const auto test = [index](unsigned i) { return IsTrue(index[i]); };
  Pack({"__bang_select", kSelection, kAll128}, d, src, In("index", index, n, kDecides), n, where,
       test, 128 / sizeof(T));
}

// name(src, n) returns the result; the old form name(d, src, n) writes it to d[0].
#define BANG_REDUCTION(name, result)                                                             \
  template <Float T>                                                                             \
  unsigned name(const T* src, unsigned n, BANG_WHERE) {                                          \
    const Issued issued = Issue({#name, kSelection}, n, {In("src", src, n, kDecides)}, where);   \
    return issued ? static_cast<unsigned>(result) : 0;                                           \
  }                                                                                              \
  template <Float T>                                                                             \
  void name(unsigned* d, const T* src, unsigned n, BANG_WHERE) {                                 \
    const Issued issued = Issue({#name, kSelection, k2xx, kEverywhere}, n,                       \
                                {In("dst", d, 1, kResult | kSingle), In("src", src, n)}, where); \
    if (issued) issued.Put(d, static_cast<unsigned>(result), issued.all_written());              \
  }
BANG_REDUCTION(__bang_count, std::count_if(src, src + n, IsTrue<T>))
BANG_REDUCTION(__bang_findfirst1, Find1(src, n, false))
BANG_REDUCTION(__bang_findlast1, Find1(src, n, true))

inline unsigned __bang_count_bitindex(const void* src, unsigned n, BANG_WHERE) {
  RequireBits("__bang_count_bitindex", n, 512, where);
  const Issued issued = Issue({"__bang_count_bitindex", kSelection, k2xx64, kEverywhere}, n,
                              {Bits("src", src, n)}, where);
  const auto is_set = [src](unsigned i) { return BitAt(src, i); };
  return issued ? static_cast<unsigned>(IndicesWhere(n, is_set).size()) : 0;
}

// Copies byte i where bit i of mask is 1.
inline void __bang_maskmove(void* d, const void* src, const void* mask, unsigned size, BANG_WHERE) {
  RequireBits("__bang_maskmove", size, 1024, where);
  auto* const to = static_cast<char*>(d);
  const auto* const from = static_cast<const char*>(src);
  const Issued issued =
      Issue({"__bang_maskmove", kSelection, k2xx, kEverywhere}, size,
            {Out("dst", to, size), In("src", from, size), Bits("mask", mask, size)}, where);
  Rearrange(issued, to, size, from, [mask](size_t i) { return BitAt(mask, i) ? i : kKeep; });
}

// d[i] = table[index[i]]; d[i] keeps its value where index[i] >= table_length.
template <LutEntry T>
void __bang_lut(T* d, const std::make_unsigned_t<T>* index, const T* table, unsigned n,
                unsigned table_length, BANG_WHERE) {
  Require(table_length % 64 == 0 && table_length > 0, "__bang_lut", where,
          "table_length must be a positive multiple of 64");
  const Issued issued = Issue({"__bang_lut", kSelection, kNoRule, kFrom322}, n,
                              {Out("dst", d, n), In("index", index, n, kDecides | InPlace()),
                               In("table", table, table_length, kNoAlias)},
                              where);
  Rearrange(issued, d, n, table,
            [=](size_t i) { return index[i] < table_length ? size_t{index[i]} : kKeep; });
}

// name(d, src, height, width): d[i] = src[from]. Sides are multiples of step_2xx bytes on 2xx.
#define BANG_MATRIX(name, step_2xx, from)                                                       \
  template <Element T>                                                                          \
  void name(T* d, const T* src, unsigned height, unsigned width, BANG_WHERE) {                  \
    const size_t n = size_t{height} * width;                                                    \
    const Issued issued = Issue({#name, kLayout, k2xx, kEverywhere}, n,                         \
                                {Out("dst", d, n), In("src", src, n, kNoAlias)}, where);        \
    Require(!Is2xx() || (height * sizeof(T) | width * sizeof(T)) % step_2xx == 0, #name, where, \
            "height and width must be multiples of " #step_2xx " bytes on 2xx");                \
    Rearrange(issued, d, n, src, [=](size_t i) { return from; });                               \
  }
BANG_MATRIX(__bang_transpose, 64, i % height * width + i / height)
BANG_MATRIX(__bang_mirror, 128, i / width * width + (width - 1 - i % width))
BANG_MATRIX(__bang_rotate90, 128, (height - 1 - i % height) * width + i / height)
BANG_MATRIX(__bang_rotate180, 128, n - 1 - i)
BANG_MATRIX(__bang_rotate270, 128, i % height * width + (width - 1 - i / height))

// Zero padding of an HWC block.
template <Element T>
void __bang_pad(T* d, const T* src, unsigned channel, unsigned height, unsigned width, unsigned top,
                unsigned bottom, unsigned left, unsigned right, BANG_WHERE) {
  const size_t out_width = left + width + right;
  const size_t n = (top + height + bottom) * out_width * channel;
  const size_t src_n = size_t{height} * width * channel;
  const Issued issued = Issue({"__bang_pad", kLayout, k2xx, kEverywhere}, n,
                              {Out("dst", d, n), In("src", src, src_n, kNoAlias)}, where);
  Rearrange(issued, d, n, src, [=](size_t i) {
    const size_t h = i / channel / out_width - top, w = i / channel % out_width - left;
    const bool is_inside = h < height && w < width;  // a negative difference is a large number
    return is_inside ? (h * width + w) * channel + i % channel : kZero;
  });
}

// stride_w comes before stride_h. The strides of the short form are kernel_w and kernel_h.
#define BANG_POOL(name, pooling, D)                                                            \
  template <Float T>                                                                           \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,             \
            unsigned kernel_h, unsigned kernel_w, unsigned stride_w, unsigned stride_h,        \
            BANG_WHERE) {                                                                      \
    Pool<T>(#name, Pooling::pooling,                                                           \
            {channel, height, width, kernel_h, kernel_w, stride_w, stride_h}, src, d, nullptr, \
            where);                                                                            \
  }                                                                                            \
  template <Float T>                                                                           \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,             \
            unsigned kernel_h, unsigned kernel_w, BANG_WHERE) {                                \
    name(d, src, channel, height, width, kernel_h, kernel_w, kernel_w, kernel_h, where);       \
  }
BANG_POOL(__bang_sumpool, kSum, T)
BANG_POOL(__bang_maxpool, kMax, T)
BANG_POOL(__bang_minpool, kMin, T)
BANG_POOL(__bang_maxpool_index, kMax, PoolIndex<T>)

// The index of an output is value_index_stride bytes behind its value.
template <Float T>
void __bang_maxpool_value_index(T* d, const T* src, unsigned channel, unsigned height,
                                unsigned width, unsigned kernel_h, unsigned kernel_w,
                                unsigned stride_w, unsigned stride_h, unsigned value_index_stride,
                                BANG_WHERE) {
  const char* const name = "__bang_maxpool_value_index";
  const PoolShape p = {channel, height, width, kernel_h, kernel_w, stride_w, stride_h};
  RequirePool(name, p, sizeof(T), where);
  Require(value_index_stride % sizeof(T) == 0 && value_index_stride >= p.outputs() * sizeof(T),
          name, where, "value_index_stride must be a multiple of an element, behind the values");
  auto* const indices = reinterpret_cast<char*>(d) + value_index_stride;
  Pool(name, Pooling::kMax, p, src, d, reinterpret_cast<PoolIndex<T>*>(indices), where);
}

}  // namespace intrinsics
}  // namespace bang
