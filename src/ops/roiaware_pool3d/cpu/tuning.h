// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters of roiaware_pool3d. Ratios are relative to the time of the alternative,
// with hot caches.
#pragma once

#include <cstdint>

namespace mluop::roiaware_pool3d {

// Forward: points tested at once, at most.
inline constexpr int64_t kMaxLanes = 16;
// Forward: points per list. Their coordinates stay in L1 or L2.
inline constexpr int64_t kChunkPoints = 4096;
// Forward: voxels per range, at most. Their counts are on the stack.
inline constexpr int64_t kMaxRangeVoxels = 2048;
// Forward: entries of all lists together (4 MiB), unless one box needs more.
inline constexpr int64_t kMaxEntries = 1 << 19;

// Forward: tests of a point against a box, and output elements, that justify one more thread: a few
// microseconds of work. The setup of a box counts as kBoxCost tests.
inline constexpr int64_t kTestGrain = 65536;
inline constexpr int64_t kBoxCost = 128;
inline constexpr int64_t kOutputGrain = 16384;

// Backward: one more slice costs a pass over its sums. It needs this many voxels per point.
inline constexpr int64_t kVoxelsPerPoint = 4;
inline constexpr int64_t kMaxSlices = 8;

// Backward: more sums than this are computed in rounds of points.
inline constexpr int64_t kMaxSums = int64_t{1} << 24;  // floats: 64 MiB

// Backward: voxels per tile. The voxels that add something are listed first, branch-free, because
// the branch would be unpredictable. Their gradients are prefetched as soon as they are listed:
// 0.8x the time on the sparse PartA2 case.
inline constexpr int64_t kTileVoxels = 256;
// Backward: argmax is prefetched this far ahead; the hardware prefetcher stops at pages.
inline constexpr int64_t kPrefetchVoxels = 32;
// Backward MAX: rows of this many channels are not listed. The bound on listed rows also lets the
// compiler keep a row in registers: 0.85x the time on the dense PartA2 case (AVX-512, 1 thread).
inline constexpr int64_t kLongRow = 32;

}  // namespace mluop::roiaware_pool3d
