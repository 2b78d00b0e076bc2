// SPDX-License-Identifier: Apache-2.0
// The order in which the CPU kernels take the boxes of a border: along the axis that the border
// does not move on. The edges of a batch then lie on the same two rows (or columns) of the map, which
// stay in the first cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/dtype.h"
#include "cpu/thread_pool.h"
#include "cpu/tuning.h"
#include "ops/border_align/cpu/slices.h"

namespace mluop::border_align {

// Whether the boxes are worth sorting: not where a whole strip stays in the first cache anyway.
// Follows from the sizes alone, because sums depend on the order.
inline bool SortPays(const Problem& p) {
  return !FewSamples(p) && p.k > kBatch && p.pixels() * std::min(p.c, kStrip) > kFirstCacheFloats;
}

// Elements of an order [N, 4, K], in whole cache lines; none where sorting does not pay.
inline int64_t OrderSize(const Problem& p) {
  return SortPays(p) ? WholeLines(int64_t{p.n} * kBorders * p.k) : 0;
}

// A counting sort, stable. boxes: [K, 4] of an image; order: [K]
template <typename T>
void SortBoxes(const Problem& p, const T* boxes, int border, int32_t* order) {
  constexpr int kBuckets = 256;
  const int size = border == kTop || border == kBottom ? p.h : p.w;
  const int width = (size + kBuckets - 1) / kBuckets;
  const auto bucket_of = [&](int64_t k) {
    const T* box = boxes + k * 4;
    const Edge edge = MakeEdge({ToFloat(box[0]), ToFloat(box[1]), ToFloat(box[2]), ToFloat(box[3])},
                               border, p.pool_size);
    return FindNeighbours(edge.fixed, size).low / width;
  };
  int32_t next[kBuckets + 1] = {};
  for (int64_t k = 0; k < p.k; ++k) ++next[bucket_of(k) + 1];
  for (int i = 0; i < kBuckets; ++i) next[i + 1] += next[i];
  for (int64_t k = 0; k < p.k; ++k) order[next[bucket_of(k)]++] = static_cast<int32_t>(k);
}

// The order in `memory` of OrderSize elements; NULL: the boxes are taken as they come.
template <typename T>
const int32_t* SortAll(const Problem& p, const T* boxes, void* memory, ThreadPool& threads) {
  if (!SortPays(p)) return nullptr;
  auto* order = static_cast<int32_t*>(memory);
  threads.For(int64_t{p.n} * kBorders, kGrain / p.k + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      SortBoxes(p, boxes + i / kBorders * p.k * 4, static_cast<int>(i % kBorders), order + i * p.k);
    }
  });
  return order;
}

}  // namespace mluop::border_align
