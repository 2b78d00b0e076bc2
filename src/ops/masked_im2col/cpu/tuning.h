// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels choose by size, with the measurements behind it where there are some: the
// time against that of the other choice, hot.
#pragma once

#include <cstdint>

namespace mluop::masked_im2col {

// Forward: masks of a work item, in bytes of a row. Their corners stay in the L1 cache while the
// kernel's rows pass over them. Stores past the caches come in bursts of so many: with 1 KiB a row
// C256 100x152 M4000 k3 takes 1.12 of the time, with 256 bytes 1.05.
inline constexpr int64_t kBlockBytes = 512;

// A table of the masks pays from so many elements a mask on; without one, elements of a work item.
inline constexpr int64_t kLeastOfTable = 3;
inline constexpr int64_t kDirectChunk = 512;

// Backward: channels side by side take one more pass over the pixels, which pays with an addition
// for every so many of them.
inline constexpr int64_t kPixelsPerSum = 4;

// Sums of a band: 1 MiB, which stays in the L2 cache. Pixels below which a band does not pay for its
// walk over the masks. Masks of a block: its kernel elements are all added before the next one's.
inline constexpr int64_t kMaxSums = 262144;
inline constexpr int64_t kMinBand = 1024;
inline constexpr int64_t kAddedMasks = 1024;

// Pixels that are worth a work item, where channels are not side by side.
inline constexpr int64_t kItemPixels = 8192;

// col2im: elements that are zeroed, scattered into and written at once: 32 KiB at most, in the L1
// cache.
inline constexpr int64_t kTileElements = 8192;

// Putting the masks in order pays from so many channels on.
inline constexpr int64_t kLeastOfOrder = 8;

}  // namespace mluop::masked_im2col
