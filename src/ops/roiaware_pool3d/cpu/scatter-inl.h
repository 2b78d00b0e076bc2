// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d backward on the CPU: adds the gradients of a task's voxels to its sums. Included
// once per instruction set, hence without a guard.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/backward.h"
#include "ops/roiaware_pool3d/cpu/tuning.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

// Returns the point's sums from channel c on; NULL if the point is outside the task. Negative
// indices wrap.
template <typename Real>
HWY_INLINE Real* SumsOf(const ScatterTask<Real>& task, int32_t point, int64_t channels, int64_t c) {
  const uint32_t row = static_cast<uint32_t>(point) - static_cast<uint32_t>(task.first_point);
  return row < static_cast<uint32_t>(task.points) ? task.sums + row * channels + c : nullptr;
}

// Returns whether a voxel's row of argmax names any of `points` points from `first` on.
HWY_INLINE bool ContainsAny(uint32_t first, uint32_t points, int64_t channels,
                            const int32_t* argmax) {
  const hn::ScalableTag<int32_t> di;
  const hn::RebindToUnsigned<decltype(di)> du;
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

// Adds the channels [begin, end) of a voxel one at a time. grad: of channel `begin`
template <typename T, typename Real>
HWY_INLINE void AddElements(const ScatterTask<Real>& task, int64_t channels, const int32_t* argmax,
                            const T* grad, int64_t begin, int64_t end) {
  for (int64_t c = begin; c < end; ++c) {
    Real* const sum = SumsOf(task, argmax[c], channels, c);
    const hn::CappedTag<Real, 1> d;
    if (sum != nullptr) *sum += hn::GetLane(simd::LoadFloats(d, grad + c - begin));
  }
}

// Adds one voxel of the maximum. In most voxels all channels have the same point: a vector of sums.
template <typename T, typename Real>
HWY_INLINE void AddMaximumRow(const ScatterTask<Real>& task, int64_t channels,
                              const int32_t* argmax, const T* grad) {
  const hn::ScalableTag<Real> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + step <= channels; c += step) {
    const auto value = simd::LoadFloats(d, grad + c);
    if (hn::AllTrue(di, hn::Eq(hn::LoadU(di, argmax + c), hn::Set(di, argmax[c])))) {
      Real* const sums = SumsOf(task, argmax[c], channels, c);
      if (sums != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, sums), value), d, sums);
    } else {
      HWY_ALIGN Real lanes[hn::MaxLanes(d)];
      hn::Store(value, d, lanes);
      AddElements(task, channels, argmax, lanes, c, c + step);
    }
  }
  AddElements(task, channels, argmax, grad + c, c, channels);
}

// Lists the first elements of the voxels in [begin, end) whose argmax names a point of the task, in
// ascending order. Not inlined: the caller has too few registers left.
template <typename Real>
HWY_NOINLINE int64_t ListVoxelsWithArgmax(const ScatterTask<Real>& task, int64_t channels,
                                          const int32_t* argmax, int64_t begin, int64_t end,
                                          int64_t* rows) {
  const auto first = static_cast<uint32_t>(task.first_point);
  const auto points = static_cast<uint32_t>(task.points);
  const int64_t last = (task.end - 1) * channels;
  int64_t listed = 0;
  for (int64_t row = begin * channels; row < end * channels; row += channels) {
    hwy::Prefetch(argmax + std::min(row + kPrefetchVoxels * channels, last));
    rows[listed] = row;
    listed += ContainsAny(first, points, channels, argmax + row) ? 1 : 0;
  }
  return listed;
}

// Lists the voxels in [begin, end) that have points, in ascending order. Loads the counts (one
// cache line each) in a separate loop, which keeps more loads in flight. One loop takes 1.4x the
// time on the sparse PartA2 case.
HWY_NOINLINE int64_t ListFilled(const Problem& p, const int32_t* indices, int64_t begin,
                                int64_t end, int64_t* voxels) {
  const int64_t slots = p.slots, size = end - begin;
  const int32_t* from = indices + begin * slots;
  int32_t counts[kTileVoxels];
  for (int64_t i = 0; i < size; ++i) counts[i] = from[i * slots];
  int64_t listed = 0;
  for (int64_t i = 0; i < size; ++i) {
    voxels[listed] = begin + i;
    listed += p.Stored(counts[i]) > 0 ? 1 : 0;
  }
  return listed;
}

// Adds one voxel of the average, with count > 0 points.
template <typename T, typename Real>
HWY_INLINE void AddAverageRow(const ScatterTask<Real>& task, int64_t channels,
                              const int32_t* points, int count, const T* grad) {
  simd::ForEach<Real>(channels, [&](auto d, int64_t c) {
    const auto scaled_grad =
        hn::Div(simd::LoadFloats(d, grad + c), hn::Set(d, static_cast<Real>(count)));
    for (int k = 0; k < count; ++k) {
      Real* const sums = SumsOf(task, points[k], channels, c);
      if (sums != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, sums), scaled_grad), d, sums);
    }
  });
}

// Adds the voxels of the task in ascending order, tile by tile.
template <typename T, typename Real>
HWY_INLINE void AddMaximum(const Problem& p, const BackwardTensors& tensors,
                           ScatterTask<Real> task) {
  const int64_t channels = p.channels;
  const int32_t* argmax = tensors.argmax;
  const auto* grad_out = static_cast<const T*>(tensors.grad_out);
  const auto add_row = [&](int64_t row) {
    AddMaximumRow(task, channels, argmax + row, grad_out + row);
  };
  if (channels >= kLongRow) {
    for (int64_t voxel = task.begin; voxel < task.end; ++voxel) add_row(voxel * channels);
    return;
  }
  for (int64_t tile = task.begin; tile < task.end; tile += kTileVoxels) {
    int64_t rows[kTileVoxels];
    const int64_t end = std::min(tile + kTileVoxels, task.end);
    const int64_t listed = ListVoxelsWithArgmax(task, channels, argmax, tile, end, rows);
    for (int64_t i = 0; i < listed; ++i) hwy::Prefetch(grad_out + rows[i]);
    for (int64_t i = 0; i < listed; ++i) add_row(rows[i]);
  }
}

template <typename T, typename Real>
HWY_INLINE void AddAverage(const Problem& p, const BackwardTensors& tensors,
                           ScatterTask<Real> task) {
  const int64_t channels = p.channels;
  const auto* grad_out = static_cast<const T*>(tensors.grad_out);
  for (int64_t tile = task.begin; tile < task.end; tile += kTileVoxels) {
    int64_t voxels[kTileVoxels];
    const int64_t end = std::min(tile + kTileVoxels, task.end);
    const int64_t listed = ListFilled(p, tensors.indices, tile, end, voxels);
    for (int64_t i = 0; i < listed; ++i) hwy::Prefetch(grad_out + voxels[i] * channels);
    for (int64_t i = 0; i < listed; ++i) {
      const int32_t* slots = tensors.indices + voxels[i] * p.slots;
      AddAverageRow(task, channels, slots + 1, p.Stored(slots[0]), grad_out + voxels[i] * channels);
    }
  }
}

}  // namespace mluop::roiaware_pool3d::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
