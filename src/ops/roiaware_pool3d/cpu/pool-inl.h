// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d forward on the CPU: writes the outputs of a range of voxels from the lists of its
// box. Included once per instruction set, hence without a guard.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "cpu/simd-inl.h"
#include "ops/roiaware_pool3d/cpu/forward.h"
#include "ops/roiaware_pool3d/problem.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

using PointTag = hn::CappedTag<float, kMaxLanes>;
using CellTag = hn::Rebind<int32_t, PointTag>;

// Fills to[0, n). If `stream` is set, whole cache lines are written with non-temporal stores. With
// simd::StoreRow forward takes 1.35x the time on PartA2 (Zen 5, 2 threads).
template <typename T>
HWY_INLINE void Fill(T* to, int64_t n, std::type_identity_t<T> value, bool stream) {
  constexpr int64_t kLine = kAlignment / sizeof(T);
  const hn::CappedTag<T, kLine> d;
  int64_t i = 0;
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (stream && n >= 2 * kLine && address % sizeof(T) == 0) {
    const auto past = address / sizeof(T) % kLine;
    const int64_t head = (kLine - static_cast<int64_t>(past)) % kLine;
    const int64_t lines_end = head + (n - head) / kLine * kLine;
    std::fill_n(to, head, value);
    for (i = head; i < lines_end; i += static_cast<int64_t>(hn::Lanes(d))) {
      hn::Stream(hn::Set(d, value), d, to + i);
    }
  }
  simd::ForEach<T>(n - i,
                   [&](auto tag, int64_t k) { hn::StoreU(hn::Set(tag, value), tag, to + i + k); });
}

// Writes the points of the range's voxels into their slots, and their numbers into `counts`.
HWY_INLINE void PlacePoints(const Problem& p, const ForwardScratch& scratch,
                            const VoxelRange& range, int32_t* rows, int32_t* counts) {
  constexpr CellTag di;
  constexpr hn::RebindToUnsigned<CellTag> du;
  const int64_t step = static_cast<int64_t>(hn::Lanes(di));
  const auto size = static_cast<uint32_t>(range.end - range.begin);
  const auto begin = static_cast<uint32_t>(range.begin);
  std::fill_n(counts, size, 0);
  for (int64_t chunk = 0; chunk < scratch.chunks; ++chunk) {
    const PointList found = scratch.List(range.in_batch, chunk);
    const auto place = [&](int64_t i) {
      const uint32_t voxel = static_cast<uint32_t>(found.voxel[i]) - begin;
      if (voxel >= size || counts[voxel] == p.capacity()) return;
      rows[int64_t{voxel} * p.slots + ++counts[voxel]] = found.point[i];
    };
    int64_t i = 0;
    for (; i + step <= *found.count; i += step) {
      // Most entries of a long list belong to other ranges.
      const auto voxel = hn::BitCast(du, hn::LoadU(di, found.voxel + i));
      if (hn::AllFalse(du, hn::Lt(hn::Sub(voxel, hn::Set(du, begin)), hn::Set(du, size)))) continue;
      for (int64_t k = i; k < i + step; ++k) place(k);
    }
    for (; i < *found.count; ++i) place(i);
  }
}

// Writes the counts, and 0 into every slot without a point.
HWY_INLINE void WriteCounts(const Problem& p, int64_t voxels, const int32_t* counts, int32_t* rows,
                            bool stream) {
  int64_t done = 0;
  for (int64_t voxel = 0; voxel < voxels; ++voxel) {
    if (counts[voxel] == 0) continue;
    const int64_t row = voxel * p.slots;
    Fill(rows + done, row - done, 0, stream);
    rows[row] = counts[voxel];
    done = row + 1 + counts[voxel];
  }
  Fill(rows + done, voxels * p.slots - done, 0, stream);
}

// Pools the features of a voxel's points. The maximum keeps the bits of the winner: NaN never wins.
template <typename T>
HWY_INLINE void PoolMaximum(int64_t channels, const T* features, const int32_t* points,
                            int32_t count, T* pooled, int32_t* argmax) {
  simd::ForEach<float>(channels, [&](auto d, int64_t c) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto best = lowest;
    auto at = hn::Set(di, -1);
    for (int32_t k = 0; k < count; ++k) {
      const auto value = simd::LoadFloats(d, features + points[k] * channels + c);
      const auto greater = hn::Gt(value, best);
      best = hn::IfThenElse(greater, value, best);
      at = hn::IfThenElse(hn::RebindMask(di, greater), hn::Set(di, points[k]), at);
    }
    simd::StoreFloats(hn::IfThenElseZero(hn::Gt(best, lowest), best), d, pooled + c);
    hn::StoreU(at, di, argmax + c);
  });
}

// Channel by channel: Highway cannot select 32-bit indices by comparisons of doubles.
HWY_INLINE void PoolMaximum(int64_t channels, const double* features, const int32_t* points,
                            int32_t count, double* pooled, int32_t* argmax) {
  for (int64_t c = 0; c < channels; ++c) {
    double best = -std::numeric_limits<double>::infinity();
    argmax[c] = -1;
    for (int32_t k = 0; k < count; ++k) {
      const double value = features[points[k] * channels + c];
      if (value > best) best = value, argmax[c] = points[k];
    }
    pooled[c] = argmax[c] < 0 ? 0 : best;
  }
}

// Adds in ascending order of the points.
template <typename Real, typename T>
HWY_INLINE void PoolAverage(int64_t channels, const T* features, const int32_t* points,
                            int32_t count, T* pooled) {
  simd::ForEach<Real>(channels, [&](auto d, int64_t c) {
    auto sum = hn::Zero(d);
    for (int32_t k = 0; k < count; ++k) {
      sum = hn::Add(sum, simd::LoadFloats(d, features + points[k] * channels + c));
    }
    const auto mean = hn::Div(sum, hn::Set(d, static_cast<Real>(count)));
    simd::StoreFloats(simd::CanonicalNan(d, mean), d, pooled + c);
  });
}

template <typename T, typename Real>
HWY_INLINE void PoolVoxels(const Problem& p, const ForwardTensors& tensors,
                           const ForwardScratch& scratch, const VoxelRange& range) {
  const int64_t channels = p.channels;
  const int64_t voxels = range.end - range.begin;
  const int64_t first = range.box * p.box_voxels() + range.begin;
  const auto* features = static_cast<const T*>(tensors.features);
  int32_t* rows = tensors.indices + first * p.slots;
  auto* pooled = static_cast<T*>(tensors.pooled) + first * channels;
  int32_t* argmax = tensors.argmax == nullptr ? nullptr : tensors.argmax + first * channels;
  const bool maximum = p.method == kMaximum;
  int32_t counts[kMaxRangeVoxels];
  PlacePoints(p, scratch, range, rows, counts);
  WriteCounts(p, voxels, counts, rows, tensors.stream);
  const auto fill_empty = [&](int64_t begin, int64_t end) {
    Fill(simd::LanesOf(pooled + begin * channels), (end - begin) * channels, 0, tensors.stream);
    if (argmax == nullptr) return;
    Fill(argmax + begin * channels, (end - begin) * channels, maximum ? -1 : 0, tensors.stream);
  };
  int64_t done = 0;
  for (int64_t voxel = 0; voxel < voxels; ++voxel) {
    if (counts[voxel] == 0) continue;
    fill_empty(done, voxel);
    const int32_t* points = rows + voxel * p.slots + 1;
    const int64_t row = voxel * channels;
    if (maximum) {
      PoolMaximum(channels, features, points, counts[voxel], pooled + row, argmax + row);
    } else {
      PoolAverage<Real>(channels, features, points, counts[voxel], pooled + row);
      if (argmax != nullptr) Fill(argmax + row, channels, 0, false);
    }
    done = voxel + 1;
  }
  fill_empty(done, voxels);
  if (tensors.stream) hwy::FlushStream();
}

}  // namespace mluop::roiaware_pool3d::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
