// SPDX-License-Identifier: Apache-2.0
// CUDA tuning parameters of roiaware_pool3d. Ratios are times against the alternative on the PartA2
// shape (128 boxes of 12x12x12 voxels, 16000 points, 16 channels, 128 slots), NVIDIA H200.
// Widths. Forward: one channel per thread takes 1.05x to 1.07x the time. Backward AVG on dense
// voxels: one channel per thread takes 1.65x with float sums; one slot per load takes 1.27x
// (atomics) and 1.12x (integers) when it sorts.
#pragma once

#include <cstdint>

namespace mluop::roiaware_pool3d {

inline constexpr int kThreads = 256;

// Forward: points that a warp tests against a box. Small, so that the PartA2 shape has thousands of
// warps.
inline constexpr int kChunkPoints = 512;
// Forward: tests of a thread, and lists of a warp, whose loads are in flight at the same time.
inline constexpr int kListsInFlight = 4;
// Forward: boxes are processed in batches whose lists have at most this many entries (32 MiB), unless
// one box needs more.
inline constexpr int64_t kMaxEntries = 1 << 22;
// Forward: voxels of a range. The upper bound keeps the counts of each warp and of the block below
// 48 KiB of shared memory. The lower bound limits the rereads: each range reads all lists of its
// box.
inline constexpr int64_t kMaxRangeVoxels = 1024;
inline constexpr int64_t kMinRangeVoxels = 64;
// Forward: blocks per SM. All ranges of a large call run at the same time.
inline constexpr int kRangesPerSm = 4;
// Forward: slots that one block zeroes while others search for points. Zeroing there takes 0.89x the
// time of zeroing in PoolRange.
inline constexpr int64_t kZeroedSlots = 1 << 14;

// Backward: half sums are rounded at each addition where points have at most this many voxels on
// average; the error is then a few times that of one rounding. 0.86x the time of float sums on sparse
// voxels (8.3 of 9.7 us).
inline constexpr int64_t kMaxPackedVoxels = 32;
// Backward: maximum blocks of Prepare; each writes one maximum.
inline constexpr int64_t kMaxMaxima = 1024;
// Backward, maximum: elements of a thread whose loads are in flight at the same time. With two, sparse
// voxels took 1.2x the time.
inline constexpr int kElementsInFlight = 4;

// Backward, maximum: threads of a block that read one point twice, from which on it sums repeated
// elements in shared memory. Always doing so takes 1.2x to 1.4x the time on sparse voxels.
inline constexpr int kMinRepeats = 8;

// Backward, average: threads of a block that sorts, and its voxels at most. Sorting takes 0.54x the time
// of atomics alone on dense voxels (183 of 340 us), 0.67x of integers alone (408 of 608 us).
inline constexpr int kTileThreads = 1024;
inline constexpr int64_t kMinTileVoxels = 32;
// Backward, average: tiles of a block that sorts, at most.
inline constexpr int kMaxTiles = 4;
// Backward, average: points of a voxel whose loads are in flight at the same time.
inline constexpr int kPointsInFlight = 4;

}  // namespace mluop::roiaware_pool3d
