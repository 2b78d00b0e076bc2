// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels choose by size, with the measurements behind it where there are some: the
// time against that of the other choice, hot.
#pragma once

#include <cstdint>

namespace mluop::roiaware_pool3d {

// Forward: at most so many points are tested at once; points of a chunk, whose coordinates stay in
// the L1 or L2 cache; voxels of a block, whose counts are on the stack; entries of all lists
// together (4 MiB), if one box needs no more.
inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kChunk = 4096;
inline constexpr int64_t kMostVoxels = 2048;
inline constexpr int64_t kEntries = 1 << 19;

// Tests of a point against a box, and output elements, that are worth a range of their own: some
// microseconds. What a box costs before its first point is counted as points.
inline constexpr int64_t kTestGrain = 65536;
inline constexpr int64_t kBoxCost = 128;
inline constexpr int64_t kOutputGrain = 16384;

// Backward: a part more costs a pass over its sums: it pays where there are this many voxels to a
// point.
inline constexpr int64_t kVoxelsPerPoint = 4;
inline constexpr int64_t kMostParts = 8;

// Sums beyond this are made for one range of points after another.
inline constexpr int64_t kMostSums = int64_t{1} << 24;  // floats: 64 MiB

// Voxels are taken in tiles. Those with something to add are listed first, without a branch: which
// ones they are cannot be predicted. Their gradients do not come to the cache by themselves; asked
// for as soon as they are listed they cost 0.8 of the time. The hardware sees argmax coming but for
// the ends of its pages, hence kAhead. Where rows are long a wrong guess costs less than the list.
inline constexpr int64_t kTile = 256;
inline constexpr int64_t kAhead = 32;
inline constexpr int64_t kLongRow = 32;

}  // namespace mluop::roiaware_pool3d
