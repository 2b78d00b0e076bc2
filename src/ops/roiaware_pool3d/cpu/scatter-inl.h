// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU: a share's voxels, added to its sums. Included once per
// instruction set.

#if defined(MLUOP_OPS_ROIAWARE_POOL3D_CPU_SCATTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_OPS_ROIAWARE_POOL3D_CPU_SCATTER_INL_H_
#undef MLUOP_OPS_ROIAWARE_POOL3D_CPU_SCATTER_INL_H_
#else
#define MLUOP_OPS_ROIAWARE_POOL3D_CPU_SCATTER_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/backward.h"
#include "ops/roiaware_pool3d/problem.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::ForEach;
using mluop::HWY_NAMESPACE::LoadFloats;

// The row of the point's sums; not below share.points if the point is none of this share's.
// Negative indices wrap to the far end.
HWY_INLINE uint32_t RowOf(const Share& share, int32_t point) {
  return static_cast<uint32_t>(point) - static_cast<uint32_t>(share.first_point);
}

HWY_INLINE bool Has(const Share& share, uint32_t row) {
  return row < static_cast<uint32_t>(share.points);
}

using RowTag = hn::ScalableTag<float>;
using IndexTag = hn::RebindToSigned<RowTag>;

// Whether a voxel's row of argmax names any of `points` points from `first` on.
HWY_INLINE bool NamesAny(uint32_t first, uint32_t points, int64_t channels, const int32_t* argmax) {
  const IndexTag di;
  const hn::RebindToUnsigned<IndexTag> du;
  const int64_t step = static_cast<int64_t>(hn::Lanes(di));
  bool any = false;
  int64_t c = 0;
  for (; c + step <= channels; c += step) {
    const auto row = hn::Sub(hn::BitCast(du, hn::LoadU(di, argmax + c)), hn::Set(du, first));
    any |= !hn::AllFalse(du, hn::Lt(row, hn::Set(du, points)));
  }
  for (; c < channels; ++c) any |= static_cast<uint32_t>(argmax[c]) - first < points;
  return any;
}

// Channels [begin, end) of a voxel, one by one. grad: of channel `begin`
template <typename T>
HWY_INLINE void AddElements(const Share& share, int64_t channels, const int32_t* argmax,
                            const T* grad, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    const uint32_t row = RowOf(share, argmax[c]);
    if (Has(share, row)) share.sums[row * channels + c] += ToFloat(grad[c - begin]);
  }
}

// One voxel of the maximum. Mostly all channels have the same point: then its sums are one vector.
template <typename T>
HWY_INLINE void AddMaximumRow(const Share& share, int64_t channels, const int32_t* argmax,
                              const T* grad) {
  const RowTag d;
  const IndexTag di;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + step <= channels; c += step) {
    const auto value = LoadFloats(d, grad + c);
    if (hn::AllTrue(di, hn::Eq(hn::LoadU(di, argmax + c), hn::Set(di, argmax[c])))) {
      const uint32_t row = RowOf(share, argmax[c]);
      if (!Has(share, row)) continue;
      float* sums = share.sums + row * channels + c;
      hn::StoreU(hn::Add(hn::LoadU(d, sums), value), d, sums);
    } else {
      HWY_ALIGN float lanes[hn::MaxLanes(d)];
      hn::Store(value, d, lanes);
      AddElements(share, channels, argmax, lanes, c, c + step);
    }
  }
  AddElements(share, channels, argmax, grad + c, c, channels);
}

// The first elements of those voxels in [begin, end) that name a point of the share, in order. Not
// inlined: its registers are short among the others.
HWY_NOINLINE int64_t ListNamed(const Share& share, int64_t channels, const int32_t* argmax,
                               int64_t begin, int64_t end, int64_t* rows) {
  const auto first = static_cast<uint32_t>(share.first_point);
  const auto points = static_cast<uint32_t>(share.points);
  const int64_t last = (share.end - 1) * channels;
  int64_t listed = 0;
  for (int64_t row = begin * channels; row < end * channels; row += channels) {
    hwy::Prefetch(argmax + std::min(row + kAhead * channels, last));
    rows[listed] = row;
    listed += NamesAny(first, points, channels, argmax + row) ? 1 : 0;
  }
  return listed;
}

template <typename T>
HWY_INLINE void AddMaximum(const Problem& p, const BackwardTensors& tensors, Share share) {
  const int64_t channels = p.channels;
  const int32_t* argmax = tensors.argmax;
  const auto* grad_out = static_cast<const T*>(tensors.grad_out);
  const auto add_row = [&](int64_t row) {
    AddMaximumRow(share, channels, argmax + row, grad_out + row);
  };
  if (channels >= kLongRow) {
    for (int64_t voxel = share.begin; voxel < share.end; ++voxel) add_row(voxel * channels);
    return;
  }
  for (int64_t tile = share.begin; tile < share.end; tile += kTile) {
    int64_t rows[kTile];
    const int64_t end = std::min(tile + kTile, share.end);
    const int64_t listed = ListNamed(share, channels, argmax, tile, end, rows);
    for (int64_t i = 0; i < listed; ++i) hwy::Prefetch(grad_out + rows[i]);
    for (int64_t i = 0; i < listed; ++i) add_row(rows[i]);
  }
}

// One voxel of the average, with count > 0 points.
template <typename T>
HWY_INLINE void AddAverageRow(const Share& share, int64_t channels, const int32_t* points,
                              int count, const T* grad) {
  ForEach<float>(channels, [&](auto d, int64_t c) {
    const auto part = hn::Div(LoadFloats(d, grad + c), hn::Set(d, static_cast<float>(count)));
    for (int k = 0; k < count; ++k) {
      const uint32_t row = RowOf(share, points[k]);
      if (!Has(share, row)) continue;
      float* sums = share.sums + row * channels + c;
      hn::StoreU(hn::Add(hn::LoadU(d, sums), part), d, sums);
    }
  });
}

// The voxels in [begin, end) that have points, in order. The counts, a cache line each, are loaded in
// a loop of their own, which keeps most of them under way at once: with the list made in the same
// loop the whole operator takes 1.4 times as long on the sparse PartA2 case.
HWY_NOINLINE int64_t ListFilled(const Problem& p, const int32_t* indices, int64_t begin,
                                int64_t end, int64_t* voxels) {
  const int64_t slots = p.slots, size = end - begin;
  const int32_t* from = indices + begin * slots;
  int32_t counts[kTile];
  for (int64_t i = 0; i < size; ++i) counts[i] = from[i * slots];
  int64_t listed = 0;
  for (int64_t i = 0; i < size; ++i) {
    voxels[listed] = begin + i;
    listed += p.Stored(counts[i]) > 0 ? 1 : 0;
  }
  return listed;
}

template <typename T>
HWY_INLINE void AddAverage(const Problem& p, const BackwardTensors& tensors, Share share) {
  const int64_t channels = p.channels;
  const auto* grad_out = static_cast<const T*>(tensors.grad_out);
  for (int64_t tile = share.begin; tile < share.end; tile += kTile) {
    int64_t voxels[kTile];
    const int64_t end = std::min(tile + kTile, share.end);
    const int64_t listed = ListFilled(p, tensors.indices, tile, end, voxels);
    for (int64_t i = 0; i < listed; ++i) hwy::Prefetch(grad_out + voxels[i] * channels);
    for (int64_t i = 0; i < listed; ++i) {
      const int32_t* points = tensors.indices + voxels[i] * p.slots;
      AddAverageRow(share, channels, points + 1, p.Stored(points[0]),
                    grad_out + voxels[i] * channels);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d
HWY_AFTER_NAMESPACE();

#endif  // MLUOP_OPS_ROIAWARE_POOL3D_CPU_SCATTER_INL_H_
