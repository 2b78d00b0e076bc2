// SPDX-License-Identifier: Apache-2.0
// HWC pooling without padding; windows that do not fit are dropped.
#pragma once

#include <cstring>

#include "bang/arithmetic.h"

namespace bang {

struct PoolShape {
  unsigned channel, height, width, kernel_h, kernel_w, stride_w, stride_h;

  // Requires the rules of the shape.
  PoolShape Checked(const char* name, size_t element_bytes, Where where) const {
    Require(kernel_h > 0 && kernel_w > 0 && stride_h > 0 && stride_w > 0 && kernel_h <= height &&
                kernel_w <= width && uint64_t{kernel_h} * kernel_w <= 65536,
            name, where, "the kernel must fit the block and have at most 65536 elements");
    Require(!Is2xx() || channel * element_bytes % 128 == 0, name, where,
            "channel must be a multiple of 128 bytes on 2xx");
    return *this;
  }
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

enum class Pooling { kSum, kMax, kMin };

// Calls store(output index, value, index inside the window, state) for every output.
template <class T, class Store>
void Pool(const char* name, Pooling pooling, const PoolShape& p, const T* src,
          std::initializer_list<Operand> operands, const Store& store, Where where) {
  const Issued issued =
      Issue({name, kArithmetic, kNoRule, kEverywhere}, Flow::kCustom, p.inputs(), operands, where);
  if (!issued) return;
  for (size_t o = 0; o < p.outputs(); ++o) {
    double value = 0;
    unsigned index = 0;
    uint8_t state = 1;
    for (unsigned k = 0; k < p.kernel_h * p.kernel_w; ++k) {
      const T* const element = src + p.At(o, k);
      const double x = Exact(*element);
      for (size_t b = 0; b < sizeof(T); ++b) state &= StateOf(element)[b];
      if (pooling == Pooling::kSum) {
        value += x;
      } else if (k == 0 || (pooling == Pooling::kMax ? x > value : x < value)) {
        value = x;
        index = k;
      }
    }
    store(o, T(static_cast<float>(value)), index, state);
  }
}
template <class T>
void Put(T* d, T value, uint8_t state) {
  *d = Is2xx() ? Saturated(value) : value;
  std::memset(StateOf(d), state, sizeof(T));
}

template <class T>
using PoolIndex = std::conditional_t<std::is_same_v<T, half>, uint16_t, uint32_t>;

}  // namespace bang

// stride_w comes before stride_h. The strides of the short form are kernel_w and kernel_h.
#define BANG_POOL_FORMS(name, D, body)                                                     \
  template <::bang::Float T>                                                               \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,         \
            unsigned kernel_h, unsigned kernel_w, unsigned stride_w, unsigned stride_h,    \
            BANG_WHERE) {                                                                  \
    using namespace bang;                                                                  \
    const PoolShape p =                                                                    \
        PoolShape{channel, height, width, kernel_h, kernel_w, stride_w, stride_h}.Checked( \
            #name, sizeof(T), where);                                                      \
    body;                                                                                  \
  }                                                                                        \
  template <::bang::Float T>                                                               \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,         \
            unsigned kernel_h, unsigned kernel_w, BANG_WHERE) {                            \
    name(d, src, channel, height, width, kernel_h, kernel_w, kernel_w, kernel_h, where);   \
  }
#define BANG_POOL(name, pooling)                                       \
  BANG_POOL_FORMS(                                                     \
      name, T,                                                         \
      Pool(                                                            \
          #name, Pooling::pooling, p, src,                             \
          {Out(d, p.outputs()), In{"src", src, p.inputs(), kNoAlias}}, \
          [d](size_t o, T value, unsigned, uint8_t s) { Put(d + o, value, s); }, where))
BANG_POOL(__bang_sumpool, kSum)
BANG_POOL(__bang_maxpool, kMax)
BANG_POOL(__bang_minpool, kMin)
#undef BANG_POOL
// The index inside the window: uint32_t for float, uint16_t for half. The first maximum wins.
BANG_POOL_FORMS(__bang_maxpool_index, ::bang::PoolIndex<T>,
                Pool(
                    "__bang_maxpool_index", Pooling::kMax, p, src,
                    {Out(d, p.outputs()), In{"src", src, p.inputs(), kNoAlias}},
                    [d](size_t o, T, unsigned index, uint8_t s) {
                      Put(d + o, static_cast<PoolIndex<T>>(index), s);
                    },
                    where))
#undef BANG_POOL_FORMS

// The index of an output is value_index_stride bytes behind its value.
template <::bang::Float T>
void __bang_maxpool_value_index(T* d, const T* src, unsigned channel, unsigned height,
                                unsigned width, unsigned kernel_h, unsigned kernel_w,
                                unsigned stride_w, unsigned stride_h, unsigned value_index_stride,
                                BANG_WHERE) {
  using namespace bang;
  const char* const name = "__bang_maxpool_value_index";
  const PoolShape p =
      PoolShape{channel, height, width, kernel_h, kernel_w, stride_w, stride_h}.Checked(
          name, sizeof(T), where);
  auto* const indices =
      reinterpret_cast<PoolIndex<T>*>(reinterpret_cast<char*>(d) + value_index_stride);
  Require(value_index_stride % sizeof(T) == 0 && value_index_stride >= p.outputs() * sizeof(T),
          name, where, "value_index_stride must be a multiple of an element, behind the values");
  Pool(
      name, Pooling::kMax, p, src,
      {Out(d, p.outputs()), In{"src", src, p.inputs(), kNoAlias}, Out(indices, p.outputs())},
      [&](size_t o, T value, unsigned index, uint8_t s) {
        Put(d + o, value, s);
        Put(indices + o, static_cast<PoolIndex<T>>(index), s);
      },
      where);
}
