// SPDX-License-Identifier: Apache-2.0
// The order in which the CPU implementations visit the boxes of a border: sorted by the coordinate
// that is constant along the border. The edges of a batch then lie on the same two rows (or
// columns) of the map, which stay in L1.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "cpu/context.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/slices.h"

namespace mluop::border_align {

// Returns true if a block exceeds L1, so that sorting helps. Depends only on the sizes, because the
// sums of backward depend on the order.
inline bool ShouldSort(const Problem& p) {
  return p.k > kBatch && p.pixels() * std::min(p.c, kBlock) > kL1Floats;
}

// Elements of an order [N, 4, K], in whole cache lines; 0 where the boxes are not sorted.
inline int64_t OrderSize(const Problem& p) {
  return ShouldSort(p) ? WholeLines(int64_t{p.n} * kBorders * p.k) : 0;
}
inline size_t OrderBytes(const Problem& p) {
  return static_cast<size_t>(OrderSize(p)) * sizeof(int32_t);
}

// Sorts the boxes of one border with a stable counting sort. boxes: [K, 4] of an image; order: [K]
template <typename T>
void SortBoxes(const Problem& p, const T* boxes, int border, int32_t* order) {
  constexpr int kBuckets = 256;
  const int size = border == kTop || border == kBottom ? p.h : p.w;
  const int width = (size - 1) / kBuckets + 1;
  const auto bucket_of = [&](int64_t k) {
    const T* box = boxes + k * 4;
    const Edge edge =
        MakeEdge(Box{ToFloat(box[0]), ToFloat(box[1]), ToFloat(box[2]), ToFloat(box[3])}, border,
                 p.pool_size);
    return FindNeighbours(edge.fixed, size).low / width;
  };
  int32_t next[kBuckets + 1] = {};
  for (int64_t k = 0; k < p.k; ++k) ++next[bucket_of(k) + 1];
  for (int i = 0; i < kBuckets; ++i) next[i + 1] += next[i];
  for (int64_t k = 0; k < p.k; ++k) order[next[bucket_of(k)]++] = static_cast<int32_t>(k);
}

template <typename T>
void SortAllTyped(const CpuCall<Problem>& call, int32_t* order) {
  const Problem& p = call.p;
  const T* boxes = call.arguments.In<T>("boxes");
  call.context.threads().ForEach(int64_t{p.n} * kBorders, kGrain / p.k + 1, [&](int64_t i, int) {
    SortBoxes(p, boxes + i / kBorders * p.k * 4, static_cast<int>(i % kBorders), order + i * p.k);
  });
}

// Sorts into `scratch` of OrderSize elements. Returns NULL if the boxes are visited in ascending
// order.
inline const int32_t* SortAll(const CpuCall<Problem>& call, void* scratch) {
  if (!ShouldSort(call.p)) return nullptr;
  auto* order = static_cast<int32_t*>(scratch);
  call.arguments.Type() == MLUOP_DTYPE_HALF ? SortAllTyped<Half>(call, order)
                                            : SortAllTyped<float>(call, order);
  return order;
}

}  // namespace mluop::border_align
