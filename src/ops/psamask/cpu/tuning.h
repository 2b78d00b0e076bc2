// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels choose by size, with the measurements behind it where there are some: the
// time against that of the other choice, hot.
#pragma once

#include <cstdint>

namespace mluop::psamask {

// Fewer elements than these (that may meet) are faster one by one than in runs or squares; squares
// want as many pixels as their side.
inline constexpr int64_t kFewElements = 4096;
inline constexpr int64_t kFewPixels = 16;

// A mask's width so many times is at most the feature's: squares along the band would be mostly
// zeros. 40x40 mask 5x5 backward took 3 x as long with them.
inline constexpr int64_t kNarrow = 4;

// Rows that runs are asked for ahead: without asking, 1.8 x floor instead of 1.1 (60x60, forward).
inline constexpr int kAhead = 32;

// Columns that a group gives before it is the next one's turn. Straight to the output as many as may
// be, for then the lines of the input are neighbours (64 of them take 1.2 times as long in 97x97
// mask 97x97); of a tile as the second cache has room for.
inline constexpr int64_t kStraightCols = 128;
inline constexpr int64_t kTileCols = 64;

// Into pixels: floats of a tile, with the input's lines in an L2 of 1 MB and more; pixels of a block.
inline constexpr int64_t kTileFloats = 65536;
inline constexpr int64_t kMostPixels = 512;

}  // namespace mluop::psamask
