// SPDX-License-Identifier: Apache-2.0
// HWC pooling without padding; windows that do not fit are dropped.
#pragma once

#include "bang/arithmetic.h"

namespace bang {

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

// Writes the values, the indices of the first extremes, or both; NULL: not wanted.
template <class T>
void Pool(const char* name, Pooling pooling, const PoolShape& p, const T* src, T* values,
          PoolIndex<T>* indices, Where where) {
  RequirePool(name, p, sizeof(T), where);
  const Operand value_operand = Out("dst", values, p.outputs());
  const Operand index_operand = Out("dst", indices, p.outputs());
  const bool is_pair = values != nullptr && indices != nullptr;
  const Issued issued =
      Issue({name, kArithmetic, kNoRule, kEverywhere}, p.inputs(),
            {values != nullptr ? value_operand : index_operand,
             In("src", src, p.inputs(), kNoAlias), is_pair ? index_operand : Operand()},
            where);
  for (size_t o = 0; issued && o < p.outputs(); ++o) {
    double value = 0;
    unsigned index = 0;
    bool is_written = true;
    for (unsigned k = 0; k < p.kernel_h * p.kernel_w; ++k) {
      const T* const element = src + p.At(o, k);
      const double x = Exact(*element);
      is_written &= issued.IsWritten(element);
      if (pooling == Pooling::kSum) {
        value += x;
      } else if (k == 0 || (pooling == Pooling::kMax ? x > value : x < value)) {
        value = x;
        index = k;
      }
    }
    const T result = static_cast<float>(value);
    if (values != nullptr)
      issued.Put(values + o, issued.is_2xx ? Saturated(result) : result, is_written);
    if (indices != nullptr) issued.Put(indices + o, static_cast<PoolIndex<T>>(index), is_written);
  }
}

namespace intrinsics {

// stride_w comes before stride_h. The strides of the short form are kernel_w and kernel_h.
#define BANG_POOL(name, pooling, D, values, indices)                                       \
  template <Float T>                                                                       \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,         \
            unsigned kernel_h, unsigned kernel_w, unsigned stride_w, unsigned stride_h,    \
            BANG_WHERE) {                                                                  \
    Pool<T>(#name, Pooling::pooling,                                                       \
            {channel, height, width, kernel_h, kernel_w, stride_w, stride_h}, src, values, \
            indices, where);                                                               \
  }                                                                                        \
  template <Float T>                                                                       \
  void name(D* d, const T* src, unsigned channel, unsigned height, unsigned width,         \
            unsigned kernel_h, unsigned kernel_w, BANG_WHERE) {                            \
    name(d, src, channel, height, width, kernel_h, kernel_w, kernel_w, kernel_h, where);   \
  }
BANG_POOL(__bang_sumpool, kSum, T, d, nullptr)
BANG_POOL(__bang_maxpool, kMax, T, d, nullptr)
BANG_POOL(__bang_minpool, kMin, T, d, nullptr)
BANG_POOL(__bang_maxpool_index, kMax, PoolIndex<T>, nullptr, d)

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
