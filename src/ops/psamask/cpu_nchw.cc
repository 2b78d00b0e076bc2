// SPDX-License-Identifier: Apache-2.0
// psamask on NCHW tensors. A pair of rows (h, r) joins W-long rows of the mask row's planes j with
// rows, or columns, of y: A[w][s] = x[j][w] with j = s-w+hw (problem.h has the picture). In COLLECT
// rows of y are y[s][w]: the columns of x, each moved by its own w, which SkewColumns does for a
// vector of columns at a time. In DISTRIBUTE they are y[w][s]: a band of x transposed.
#include <algorithm>

#include "ops/psamask/cpu.h"
#include "ops/psamask/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psamask/cpu_nchw.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/simd-inl.h"
#include "ops/psamask/band-inl.h"

#ifndef MLUOP_PSAMASK_ROWS_
#define MLUOP_PSAMASK_ROWS_
namespace mluop::psamask {

// Rows at a distance, of which the columns from some place on are meant. From the other end, a
// skew to the left is one to the right.
template <typename T>
struct Rows {
  T* first;
  int64_t stride, count;
  int64_t width;  // of a row; the next pixel row's follows it

  T* Row(int64_t i) const { return first + i * stride; }
  Rows Reversed() const { return {Row(count - 1), -stride, count, width}; }
};

}  // namespace mluop::psamask
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::psamask {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::ZeroRow;

// to[o][k] = from[o - k + shift][k] for the lanes k of d, 0 where there is no such row. One column
// moves by one row, two by two, and so on: each step takes a row of its input or, in the lanes that
// have its bit, the one so many rows before. Four blends make sixteen elements.
template <class D>
HWY_INLINE void SkewColumns(D d, const Rows<const float>& from, int64_t shift,
                            const Rows<float>& to) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  HWY_ALIGN float before[kLanes * kLanes] = {};  // for each step, its last `distance` inputs
  const hn::RebindToSigned<D> di;
  const auto lane = hn::Iota(di, 0);
  const auto step = [&](auto v, int64_t row, int64_t distance) HWY_ATTR {
    float* slot = before + (distance - 1 + (row & (distance - 1))) * kLanes;
    const auto moved = hn::TestBit(lane, hn::Set(di, static_cast<int32_t>(distance)));
    const auto result = hn::IfThenElse(hn::RebindMask(d, moved), hn::Load(d, slot), v);
    hn::Store(v, d, slot);
    return result;
  };
  for (int64_t o = 1 - kLanes; o < to.count; ++o) {
    const int64_t row = o + shift;
    auto v = hn::Zero(d);
    if (row >= 0 && row < from.count) {
      v = hn::LoadU(d, from.Row(row));
      hwy::Prefetch(from.Row(row) + from.width);
    }
    if (kLanes > 1) v = step(v, o + kLanes, 1);
    if (kLanes > 2) v = step(v, o + kLanes, 2);
    if (kLanes > 4) v = step(v, o + kLanes, 4);
    if (kLanes > 8) v = step(v, o + kLanes, 8);
    if (o >= 0) hn::StoreU(v, d, to.Row(o));
  }
}

// to[o][w] = from[o - w + shift][w] for w in [0, to.width), 0 where there is no such row.
HWY_INLINE void Skew(const Rows<const float>& from, int64_t shift, const Rows<float>& to) {
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 4> quarter;
  const hn::CappedTag<float, 1> one;
  int64_t w = 0;
  const auto columns = [&](auto tag) HWY_ATTR {
    SkewColumns(tag, {from.first + w, from.stride, from.count, from.width}, shift - w,
                {to.first + w, to.stride, to.count, to.width});
    w += static_cast<int64_t>(hn::Lanes(tag));
  };
  while (w + static_cast<int64_t>(hn::Lanes(d)) <= to.width) columns(d);
  while (w + static_cast<int64_t>(hn::Lanes(quarter)) <= to.width) columns(quarter);
  while (w < to.width) columns(one);
}

// The rows of y where mask row i puts pixel row h: [s][w] in COLLECT, [w][s] in DISTRIBUTE.
void ForwardBlock(const Problem& p, const float* x, float* y, int64_t i, int64_t h) {
  const int64_t r = h + i - p.half_h();
  const bool collect = p.type == kCollect;
  const Rows<const float> from = {x + i * p.w_mask * p.pixels() + h * p.w, p.pixels(), p.w_mask,
                                  p.w};
  if (collect) {
    return Skew(from, p.half_w(), {y + (r * p.pixels() + h) * p.w, p.pixels(), p.w, p.w});
  }
  const Rows<float> to = {y + (h * p.pixels() + r) * p.w, p.pixels(), p.w, p.w};
  const auto shift = [&](int64_t w) { return p.half_w() - w; };  // j = s + shift
  TransposeBand(
      from.first, from.stride, to.first - p.half_w(), to.stride + 1, 0, p.w,
      [&](int64_t w) { return p.SBegin(w) + shift(w); },
      [&](int64_t w) { return p.SEnd(w) + shift(w); });
  for (int64_t w = 0; w < p.w; ++w) {
    ZeroRow(to.Row(w), p.SBegin(w));
    ZeroRow(to.Row(w) + p.SEnd(w), p.w - p.SEnd(w));
  }
}

// The rows [j][w] of dx of mask row i and pixel row h.
void BackwardBlock(const Problem& p, const float* dy, float* dx, int64_t i, int64_t h) {
  const int64_t r = h + i - p.half_h();
  const Rows<float> to = {dx + i * p.w_mask * p.pixels() + h * p.w, p.pixels(), p.w_mask, p.w};
  // dx[j][w] = dy[j + w - hw][w]: from the last rows on, that is a skew to the right.
  if (p.type == kCollect) {
    const Rows<const float> from = {dy + (r * p.pixels() + h) * p.w, p.pixels(), p.w, p.w};
    return Skew(from.Reversed(), int64_t{p.w} - p.w_mask + p.half_w(), to.Reversed());
  }
  const float* from = dy + (h * p.pixels() + r) * p.w;
  const auto begin = [&](int64_t j) { return std::clamp<int64_t>(p.half_w() - j, 0, p.w); };
  const auto end = [&](int64_t j) { return std::clamp<int64_t>(p.w + p.half_w() - j, 0, p.w); };
  TransposeBand(from - p.half_w(), p.pixels() + 1, to.first, to.stride, 0, p.w_mask, begin, end);
  for (int64_t j = 0; j < p.w_mask; ++j) {
    ZeroRow(to.Row(j), begin(j));
    ZeroRow(to.Row(j) + end(j), p.w - end(j));
  }
}

// A plane outside its rows [begin, end).
void ZeroOutside(const Problem& p, int64_t begin, int64_t end, float* plane) {
  ZeroRow(plane, begin * p.w);
  ZeroRow(plane + end * p.w, (p.h - end) * p.w);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psamask
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psamask {
namespace {

HWY_EXPORT(ForwardBlock);
HWY_EXPORT(BackwardBlock);
HWY_EXPORT(ZeroOutside);

struct Range {
  int64_t begin, end;
};

// [begin, end) as far as it is within [0, H).
Range Clip(const Problem& p, int64_t begin, int64_t end) {
  return {std::clamp<int64_t>(begin, 0, p.h), std::clamp<int64_t>(end, 0, p.h)};
}

// The pixel rows that mask row i joins with some row.
Range RowsOf(const Problem& p, int64_t i) { return Clip(p, p.half_h() - i, p.h + p.half_h() - i); }

// Zeros in the `count` planes of an image, outside the rows that written(plane) says.
template <class Written>
void ZeroTheRest(const Problem& p, int64_t count, float* planes, Context& context,
                 Written written) {
  const auto zero = HWY_DYNAMIC_DISPATCH(ZeroOutside);
  context.threads().For(p.n * count, kGrain / p.pixels() + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const Range rows = written(plane % count);
      zero(p, rows.begin, rows.end, planes + plane * p.pixels());
    }
  });
}

// Splits the mask rows of all images over the threads. The pixel rows of one come one after the
// other: they lie side by side in x.
template <class Block>
void ForEachBlock(const Problem& p, Context& context, Block block) {
  const int64_t work = p.pixels() * p.w;
  context.threads().For(p.n * int64_t{p.h_mask}, kGrain / work + 1,
                        [&](int64_t begin, int64_t end, int) {
                          for (int64_t item = begin; item < end; ++item) {
                            const Range rows = RowsOf(p, item % p.h_mask);
                            for (int64_t h = rows.begin; h < rows.end; ++h) {
                              block(item / p.h_mask, item % p.h_mask, h);
                            }
                          }
                        });
}

}  // namespace

mluOpStatus_t NchwForwardCpu(const Arguments& arguments, Context& context) {
  const Problem p = MakeProblem(arguments);
  const float* x = arguments.In<float>("x");
  float* y = arguments.Out<float>("y");
  ZeroTheRest(p, p.pixels(), y, context, [&](int64_t plane) {
    const int64_t row = plane / p.w;  // r in COLLECT, h in DISTRIBUTE
    return p.type == kCollect ? Clip(p, row + p.half_h() - p.h_mask + 1, row + p.half_h() + 1)
                              : Clip(p, row - p.half_h(), row - p.half_h() + p.h_mask);
  });
  const auto kernel = HWY_DYNAMIC_DISPATCH(ForwardBlock);
  ForEachBlock(p, context, [&](int64_t image, int64_t i, int64_t h) {
    kernel(p, x + image * p.mask() * p.pixels(), y + image * p.pixels() * p.pixels(), i, h);
  });
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t NchwBackwardCpu(const Arguments& arguments, Context& context) {
  const Problem p = MakeProblem(arguments);
  const float* dy = arguments.In<float>("dy");
  float* dx = arguments.Out<float>("dx");
  ZeroTheRest(p, p.mask(), dx, context, [&](int64_t plane) { return RowsOf(p, plane / p.w_mask); });
  const auto kernel = HWY_DYNAMIC_DISPATCH(BackwardBlock);
  ForEachBlock(p, context, [&](int64_t image, int64_t i, int64_t h) {
    kernel(p, dy + image * p.pixels() * p.pixels(), dx + image * p.mask() * p.pixels(), i, h);
  });
  return MLUOP_STATUS_SUCCESS;
}

}  // namespace mluop::psamask
#endif  // HWY_ONCE
