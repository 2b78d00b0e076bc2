// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels choose by size, with the measurements behind it where there are some: the
// time against that of the other choice, hot.
#pragma once

#include <cstdint>

namespace mluop::border_align {

// Boxes that read fewer times the pixels of the map than this do not pay for a packed copy of it.
inline constexpr int64_t kLeastReads = 2;

// Channels of a slice and of a strip, at most. A slice of the map has at most kCacheFloats (4 MiB)
// down to 16 channels, and kMostFloats always, if one channel has no more.
inline constexpr int kWidest = 256;
inline constexpr int kStrip = 64;
inline constexpr int64_t kCacheFloats = 1 << 20;
inline constexpr int64_t kMostFloats = 1 << 22;

// With so many channels of a huge map, float sums of all of it take less memory than of one channel a
// thread, where threads are many.
inline constexpr int64_t kHugeChannels = 8;

// Boxes are sorted where a strip of the map is larger than this: 0.9 of forward's time on
// [2, 25, 38, 1024].
inline constexpr int64_t kFirstCacheFloats = 8192;

// Samples of a channel, and elements to fill, that are worth a range of their own: some
// microseconds.
inline constexpr int64_t kRangeSamples = 65536;
inline constexpr int64_t kFillGrain = 65536;

// Channels that read the map itself at once.
inline constexpr int kUnpacked = 1024;

}  // namespace mluop::border_align
