// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels choose by size, with the measurements behind it where there are some: the
// time against that of the other choice, hot; for the newer ones two builds in turn, `mluop perf` with
// the shape, on two threads.
#pragma once

#include <cstdint>

namespace mluop::psroipool {

// Forward: a band is at most 1 MiB, half of a usual L2, if one row of the map is no longer.
// Backward: 512 KiB, if one row of kLeastSlice channels is no longer.
inline constexpr int64_t kForwardBand = int64_t{1} << 18;
inline constexpr int64_t kBackwardBand = int64_t{1} << 17;
inline constexpr int64_t kLeastSlice = 16;

// With fewer channels there are no tiles to transpose: regrouping is no faster than reading the
// elements where they are.
inline constexpr int kLeastVector = 4;

// With fewer bins a slice reads much of the map for little.
inline constexpr int64_t kLeastBins = 2;

// An element of a bin read from or added to the map itself costs a cache line, as much as to
// regroup this many: with few rois, most of the map is not worth it. (38x63x3969: even at 25 rois;
// 14x14x392: at 8.)
inline constexpr int64_t kStridedCost = 6;

// The same where forward leaves out what no roi reads. (38x63x3969: even at 12 rois, which says 13;
// regrouping takes 1.6 times as long at 6, 0.7 at 18 and 0.6 at 25. 50x80x525: 1.1 with 14 rois.)
inline constexpr int64_t kStridedCostOfReach = 10;

// With few rois much of the map is read by none, but to know which part costs some percent of the
// call: it is worth it where the bins have at most this many times the elements of the map.
// (38x63x3969 with 60, 300, 450 and 600 rois, 0.4, 1.9, 2.8 and 3.7 times the elements: 0.77, 0.95,
// 1.05 and 1.08 of the time.)
inline constexpr int64_t kMostReads = 2;

// With fewer bins tiles are small, and more of each is read (50x80x900 of 3x3 bins: 1.06 of the
// time).
inline constexpr int64_t kLeastReachBins = 16;

// Workers that have a copy of the map each: what they save is the second visit to every bin and the
// wait for each other, worth 1.1x on 14x14x392 and 14x14x189 with two workers; the second worker
// is then worth 1.7x.
inline constexpr int64_t kMostCopies = 8;

// More scratch than this, and than twice the tensors, is not asked for.
inline constexpr int64_t kMostFloats = int64_t{1} << 28;  // 1 GiB

}  // namespace mluop::psroipool
