// SPDX-License-Identifier: Apache-2.0
// psamask on the CPU. COLLECT copies rows; DISTRIBUTE transposes bands in tiles of 4 x 4 (problem.h
// has the picture). Every output row is written once, zeros included, by the range that owns it.
#include "ops/psamask/cpu.h"

#include <algorithm>

#include "ops/psamask/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/simd-inl.h"
#include "ops/psamask/band-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

using mluop::HWY_NAMESPACE::CopyRow;
using mluop::HWY_NAMESPACE::ZeroRow;

// y rows of the pixels [begin, end) of [N*H*W].
void CollectForward(const Problem& p, const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t w = pixel % p.w;
    const int h = static_cast<int>(pixel / p.w % p.h);
    const int64_t first = p.SBegin(w);
    const int64_t last = p.SEnd(w);
    const float* mask = x + pixel * p.mask() + p.half_w() - w;  // mask[i*w_mask + s]
    float* row = y + pixel * p.pixels();
    for (int r = 0; r < p.h; ++r, row += p.w) {
      const int64_t i = p.MaskRow(h, r);
      if (!p.HasMaskRow(i)) {
        ZeroRow(row, p.w);
        continue;
      }
      ZeroRow(row, first);
      CopyRow(mask + i * p.w_mask + first, last - first, row + first);
      ZeroRow(row + last, p.w - last);
    }
  }
}

// dx rows of the pixels [begin, end) of [N*H*W].
void CollectBackward(const Problem& p, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t w = pixel % p.w;
    const int64_t h = pixel / p.w % p.h;
    const int64_t shift = p.half_w() - w;  // j = s + shift
    const int64_t first = p.SBegin(w) + shift;
    const int64_t last = p.SEnd(w) + shift;
    float* row = dx + pixel * p.mask();
    for (int64_t i = 0; i < p.h_mask; ++i, row += p.w_mask) {
      const int64_t r = h + i - p.half_h();
      if (r < 0 || r >= p.h) {
        ZeroRow(row, p.w_mask);
        continue;
      }
      ZeroRow(row, first);
      CopyRow(dy + pixel * p.pixels() + r * p.w + first - shift, last - first, row + first);
      ZeroRow(row + last, p.w_mask - last);
    }
  }
}

// y[n, r, s, :] for s in [begin, end).
void DistributeForward(const Problem& p, const float* x, float* y, int64_t image, int r,
                       int64_t begin, int64_t end) {
  float* rows = y + (image * p.h + r) * p.w * p.pixels();
  for (int h = 0; h < p.h; ++h) {
    float* block = rows + int64_t{h} * p.w;  // block[s*pixels + w]
    const int64_t i = p.MaskRow(h, r);
    if (!p.HasMaskRow(i)) {
      for (int64_t s = begin; s < end; ++s) ZeroRow(block + s * p.pixels(), p.w);
      continue;
    }
    const float* mask = x + (image * p.h + h) * p.w * p.mask() + i * p.w_mask + p.half_w();
    TransposeBand(
        mask, p.mask() - 1, block, p.pixels(), begin, end, [&](int64_t s) { return p.WBegin(s); },
        [&](int64_t s) { return p.WEnd(s); });
    for (int64_t s = begin; s < end; ++s) {
      float* row = block + s * p.pixels();
      ZeroRow(row, p.WBegin(s));
      ZeroRow(row + p.WEnd(s), p.w - p.WEnd(s));
    }
  }
}

// dx[n, h, w, :] for w in [begin, end).
void DistributeBackward(const Problem& p, const float* dy, float* dx, int64_t image, int h,
                        int64_t begin, int64_t end) {
  float* rows = dx + (image * p.h + h) * p.w * p.mask();
  for (int64_t i = 0; i < p.h_mask; ++i) {
    float* block = rows + i * p.w_mask;  // block[w*mask + j]
    const int64_t r = h + i - p.half_h();
    if (r < 0 || r >= p.h) {
      for (int64_t w = begin; w < end; ++w) ZeroRow(block + w * p.mask(), p.w_mask);
      continue;
    }
    const float* pixels = dy + (image * p.h + r) * p.w * p.pixels() + int64_t{h} * p.w;
    TransposeBand(
        pixels, p.pixels(), block + p.half_w(), p.mask() - 1, begin, end,
        [&](int64_t w) { return p.SBegin(w); }, [&](int64_t w) { return p.SEnd(w); });
    for (int64_t w = begin; w < end; ++w) {
      float* row = block + w * p.mask();
      const int64_t shift = p.half_w() - w;
      ZeroRow(row, p.SBegin(w) + shift);
      ZeroRow(row + p.SEnd(w) + shift, p.w_mask - p.SEnd(w) - shift);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {
namespace {

HWY_EXPORT(CollectForward);
HWY_EXPORT(CollectBackward);
HWY_EXPORT(DistributeForward);
HWY_EXPORT(DistributeBackward);

constexpr int64_t kTile = 16;

// Splits the pixels of [N*H*W] over the threads.
template <class Function>
void ForEachPixel(const Problem& p, int64_t row, Context& context, Function function) {
  context.threads().For(p.n * p.pixels(), kGrain / row + 1,
                        [&](int64_t begin, int64_t end, int) { function(begin, end); });
}

// Splits [N, H, tiles of W] over the threads: function(image, h, begin, end).
template <class Function>
void ForEachTile(const Problem& p, int64_t row, Context& context, Function function) {
  const int64_t tiles = (p.w + kTile - 1) / kTile;
  context.threads().For(int64_t{p.n} * p.h * tiles, kGrain / (row * kTile) + 1,
                        [&](int64_t begin, int64_t end, int) {
                          for (int64_t item = begin; item < end; ++item) {
                            const int64_t first = item % tiles * kTile;
                            const int64_t line = item / tiles;
                            function(line / p.h, static_cast<int>(line % p.h), first,
                                     std::min<int64_t>(first + kTile, p.w));
                          }
                        });
}

}  // namespace

mluOpStatus_t ForwardCpu(const Arguments& arguments, Context& context) {
  const Problem p = MakeProblem(arguments);
  const float* x = arguments.In<float>("x");
  float* y = arguments.Out<float>("y");
  if (p.type == kCollect) {
    const auto kernel = HWY_DYNAMIC_DISPATCH(CollectForward);
    ForEachPixel(p, p.pixels(), context,
                 [&](int64_t begin, int64_t end) { kernel(p, x, y, begin, end); });
  } else {
    const auto kernel = HWY_DYNAMIC_DISPATCH(DistributeForward);
    ForEachTile(p, p.pixels(), context, [&](int64_t image, int r, int64_t begin, int64_t end) {
      kernel(p, x, y, image, r, begin, end);
    });
  }
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t BackwardCpu(const Arguments& arguments, Context& context) {
  const Problem p = MakeProblem(arguments);
  const float* dy = arguments.In<float>("dy");
  float* dx = arguments.Out<float>("dx");
  if (p.type == kCollect) {
    const auto kernel = HWY_DYNAMIC_DISPATCH(CollectBackward);
    ForEachPixel(p, p.mask(), context,
                 [&](int64_t begin, int64_t end) { kernel(p, dy, dx, begin, end); });
  } else {
    const auto kernel = HWY_DYNAMIC_DISPATCH(DistributeBackward);
    ForEachTile(p, p.mask(), context, [&](int64_t image, int h, int64_t begin, int64_t end) {
      kernel(p, dy, dx, image, h, begin, end);
    });
  }
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
