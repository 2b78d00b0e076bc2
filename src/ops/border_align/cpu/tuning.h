// SPDX-License-Identifier: Apache-2.0
// border_align: CPU tuning parameters, each with the measurement that set it where there is one.
#pragma once

#include <cstdint>

namespace mluop::border_align {

// Backward packs the map if the boxes read it at least this many times. With 950 boxes on
// 25x38x1024: 0.41x the time of whole_map. With 5 boxes on 10x10x4 packing takes 2.2x the time
// (AVX-512, 1 thread).
inline constexpr int64_t kMinReads = 2;

// Forward packs the map if the boxes read it at least this many times and a border has a block of
// channels. Time of packing on 25x38 with 950 boxes, relative to strided (AVX-512, AVX2, 1 thread):
//   256 channels  11 reads 0.69x 0.77x  4 reads 0.75x 0.85x  2 reads 0.98x 1.28x
//    64 channels  11 reads 0.85x 0.99x
//    32 channels  11 reads 1.10x 1.07x
//    16 channels  11 reads 1.18x 1.15x
// On 8x100 with 800 boxes and 2 reads: 1.2x with 2 channels, 1.5x and 1.4x with 16.
inline constexpr int64_t kForwardReads = 4;

// Maximum channels of a slice and of a block. Slices are narrowed to 16 channels until they have at
// most kCacheFloats (4 MiB), then further until they have at most kMaxFloats. With 512 KiB or 256
// KiB backward on 25x38x1024 takes 1.18x or 1.35x the time on Zen 4, although its L2 has 1 MiB.
// Wide slices read whole rows of gradients.
inline constexpr int kMaxSlice = 256;
inline constexpr int kBlock = 64;

// The same in forward: 8 vectors of AVX-512. 0.89x the time of 64 channels, 4 vectors at a time,
// with K=950 on 25x38x1024, 0.93x with K=70 on 7x10x1024 (Zen 5, 2 threads).
inline constexpr int kForwardBlock = 128;
inline constexpr int64_t kCacheFloats = 1 << 20;
inline constexpr int64_t kMaxFloats = 1 << 22;

// Boxes are sorted if kBlock channels of the map are larger than this. Sorting takes 0.83x to 0.91x the time
// of forward on [2, 25, 38, 1024], 0.86x to 1.0x of backward.
inline constexpr int64_t kL1Floats = 8192;

// Work per range (a few microseconds): samples per channel, and elements to fill.
inline constexpr int64_t kRangeSamples = 65536;
inline constexpr int64_t kFillGrain = 65536;

// Prefetch distance of backward, in edges: sorting makes the addresses of gradients and indices
// irregular. 0.6x to 0.75x the time on [2, 25, 38, 1024]. The last edges of a block of channels
// prefetch for the next block. This takes 0.80x to 0.88x the time, with 8 edges ahead 0.87x to
// 0.95x (Zen 4, 1 thread).
inline constexpr int kAhead = 4;

// Maximum channels of a slice of NCHW tensors: wide slices compute the samples less often. Backward
// with 64 instead, K=950 on 25x38x1024: 1.15x to 1.4x the time in float, 1.05x to 1.13x in half.
// K=70 on 7x10x1024 takes 1.27x; forward takes 0.93x to 1.04x. Slices of 256 gain nothing, slices
// of 32 take 1.6x (forward) and 2.9x (backward) the time of 64 (Zen 5, AVX-512, 2 threads).
inline constexpr int kPlaneSlice = 128;

// Channels of a slice that reads the map itself.
inline constexpr int kStridedSlice = 1024;

}  // namespace mluop::border_align
