// SPDX-License-Identifier: Apache-2.0
// border_align: CUDA tuning parameters, each with the measurement that set it where there is one.
#pragma once

#include <cstdint>

namespace mluop::border_align {

// Bytes of channels that a warp pools at once: 16 per lane.
inline constexpr int64_t kWarpBytes = 512;

// Forward sorts edges if a warp's channels of the map exceed L1, lines have several edges, and
// there are kSortedResults results. K=15200 on 100x152x1024 (H200): 0.51x the time of unsorted
// edges in float, 0.80x in half; with located boxes 0.93x and 1.02x.
inline constexpr int64_t kL1Bytes = 128 << 10;
inline constexpr int kEdgesPerLine = 4;
inline constexpr int64_t kSortedResults = 1 << 22;

// A warp pools four edges at a time if an SM has more than kEdgesPerSm edges. This keeps more lanes
// busy. 0.77x to 0.80x the time of one edge at a time on 25x38x1024 with K=950 and on 100x152x1024
// with K=15200 located boxes (H200, float).
inline constexpr int kGroupedEdges = 4;
inline constexpr int kEdgesPerSm = 56;
// The most samples of an edge in the table of its warp: BorderDet has 11. A larger table reduces
// L1, which shares its storage.
inline constexpr int kTableSamples = 12;

// Consecutive items per chunk: about the edges of one line. More would leave some blocks with
// costlier borders than others.
inline constexpr int kMaxChunk = 128;

// Lanes that pool an edge of a small map, 16 bytes of channels each: a conflict-free access of
// shared memory. Small maps: 0.80x the time of edges in half, 0.98x in float, with K=950 on
// 25x38x1024 (H200).
inline constexpr int kMapLanes = 8;
// Threads per edge that compute samples, interleaved.
inline constexpr int kSampleThreads = 2;
// Fewer edges than this at a time would leave threads idle.
inline constexpr int kMinBatch = 64;

}  // namespace mluop::border_align
