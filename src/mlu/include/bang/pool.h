// SPDX-License-Identifier: Apache-2.0
// Pooling.
#pragma once

#include <cstring>

#include "bang/instruction.h"

// HWC pooling without padding. stride_w comes before stride_h.
#define BANG_POOL(name, start, step)                                                           \
  template <::bang::Float T>                                                                   \
  void name(T* d, const T* src, unsigned channel, unsigned height, unsigned width,             \
            unsigned kernel_h, unsigned kernel_w, unsigned stride_w, unsigned stride_h,        \
            ::bang::Where where = ::bang::Where()) {                                           \
    using namespace bang;                                                                      \
    static constexpr Instruction kInstruction = {#name, Kind::kArithmetic, Rule::kNone};       \
    const PoolShape p(#name, {channel, height, width, kernel_h, kernel_w, stride_w, stride_h}, \
                      where);                                                                  \
    const size_t n = size_t{height} * width * channel;                                         \
    const Issued issued =                                                                      \
        Issue(kInstruction, Flow::kCustom, n,                                                  \
              {Out(d, p.out_h * p.out_w * channel), In("src", src, n, kNoAlias)}, where);      \
    if (!issued) return;                                                                       \
    p.ForEach([&](size_t out, auto first, auto&& each) {                                       \
      double result = start(static_cast<double>(static_cast<float>(src[first])));              \
      uint8_t state = 1;                                                                       \
      each([&](size_t in) {                                                                    \
        const double x = static_cast<double>(static_cast<float>(src[in]));                     \
        for (size_t b = 0; b < sizeof(T); ++b) state &= StateOf(src + in)[b];                  \
        step;                                                                                  \
      });                                                                                      \
      d[out] = T(static_cast<float>(result));                                                  \
      std::memset(StateOf(d + out), state, sizeof(T));                                         \
    });                                                                                        \
  }                                                                                            \
  template <::bang::Float T>                                                                   \
  void name(T* d, const T* src, unsigned channel, unsigned height, unsigned width,             \
            unsigned kernel_h, unsigned kernel_w, ::bang::Where where = ::bang::Where()) {     \
    name(d, src, channel, height, width, kernel_h, kernel_w, kernel_w, kernel_h, where);       \
  }

namespace bang {

struct PoolShape {
  unsigned channel, height, width, kernel_h, kernel_w, stride_w, stride_h;
  size_t out_h = 0, out_w = 0;

  struct Sizes {
    unsigned channel, height, width, kernel_h, kernel_w, stride_w, stride_h;
  };
  PoolShape(const char* name, const Sizes& s, Where where)
      : channel(s.channel),
        height(s.height),
        width(s.width),
        kernel_h(s.kernel_h),
        kernel_w(s.kernel_w),
        stride_w(s.stride_w),
        stride_h(s.stride_h) {
    Require(kernel_h > 0 && kernel_w > 0 && stride_h > 0 && stride_w > 0 && kernel_h <= height &&
                kernel_w <= width && uint64_t{kernel_h} * kernel_w <= 65536,
            name, where, "the kernel must fit the block and have at most 65536 elements");
    out_h = (height - kernel_h) / stride_h + 1;
    out_w = (width - kernel_w) / stride_w + 1;
  }

  // Calls body(output index, first input index, each) for every output.
  template <class Body>
  void ForEach(const Body& body) const {
    for (size_t o = 0; o < out_h * out_w * channel; ++o) {
      const size_t c = o % channel, w = o / channel % out_w * stride_w,
                   h = o / channel / out_w * stride_h;
      body(o, (h * width + w) * channel + c, [&](const auto& visit) {
        for (size_t k = 0; k < size_t{kernel_h} * kernel_w; ++k)
          visit(((h + k / kernel_w) * width + w + k % kernel_w) * channel + c);
      });
    }
  }
};

}  // namespace bang

BANG_POOL(__bang_sumpool, 0 *, result += x)
BANG_POOL(__bang_maxpool, , result = x > result ? x : result)
BANG_POOL(__bang_minpool, , result = x < result ? x : result)
#undef BANG_POOL
