// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters of psamask, with measurements where there are some (AVX-512, 2 threads).
#pragma once

#include <cstdint>

namespace mluop::psamask {

// A mask is narrow if it is at most 1/4 as wide as the feature map: squares would hold mostly
// zeros. 40x40 mask 5x5 backward: "elements" takes 1/3 the time of "transpose_load".
inline constexpr int64_t kNarrowMask = 4;

// "rows" prefetches this many rows ahead. 60x60 forward: 1.1 x floor with prefetch, 1.8 without.
inline constexpr int64_t kPrefetchRows = 32;

// Pixels of a band in "transpose_store" and "skew". In a pixel-major tensor a band touches one page
// of 4 KB per pixel, so that its 512 pages stay in the TLB; in a cell-major tensor it touches runs
// of 2 KB.
inline constexpr int64_t kBandPixels = 512;

// Columns per tile in "transpose_store" and "skew"; the tile fits the L2. More columns read longer
// runs of the input: "transpose_store" takes 1.2x the time with 64 (97x97 mask 97x97).
inline constexpr int64_t kTileCols = 128;

// Floats of a tile in "transpose_load": the tile and the input's lines fit into an L2 of 1 MB.
inline constexpr int64_t kLoadTileFloats = 65536;
inline constexpr int64_t kLoadPixels = 512;

}  // namespace mluop::psamask
