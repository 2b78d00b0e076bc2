// SPDX-License-Identifier: Apache-2.0
// CUDA tuning parameters of the family.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::masked_im2col {

// Every architecture from sm_75 on gives a block this much shared memory.
inline constexpr size_t kMaxShared = 64 << 10;
// Shared memory that CUDA reserves per block.
inline constexpr size_t kReserved = 1024;

// Forward. Two staged blocks per SM with 64 registers per thread: one copies its plane while the other
// stores. "staged" takes 0.83x the time of "direct" on C256 100x152 M4000 k3 sorted, 0.50x with random
// masks (H200).
inline constexpr int kStagedThreads = 512;
inline constexpr int64_t kDirectThreadsPerSm = 2048;
// Masks per thread of a large staged call: stores of 16 bytes for float, 8 for half.
inline constexpr int kWideMasks = 4;
// Elements of a kernel row that a thread reads before it stores the first.
inline constexpr uint32_t kTapsInFlight = 3;
inline constexpr int64_t kSectorBytes = 32;

// Backward.
inline constexpr int kBackwardThreads = 512;
inline constexpr int kBackwardBlocksPerSm = 2;
// Additions of a thread in flight.
inline constexpr int kAddsInFlight = 4;
// Larger kernels are processed in blocks of at most this size per axis, which keeps the margins
// small.
inline constexpr int kMaxKernel = 8;
// Minimum pixels per band: smaller bands spend more on reading masks than extra blocks gain.
inline constexpr int kMinBandPixels = 128;
// Minimum rows of a band that is narrower than the feature.
inline constexpr int64_t kMinRows = 16;
// Masks per thread, kept in registers over all kernel elements.
inline constexpr int kKeptMasks = 8;

// col2im forward. "staged" takes 0.44x the time of "table" on C256 100x152 M4000 (half: 0.34x; H200).
inline constexpr int kCol2imThreads = 1024;
// Masks that a thread reads before it waits for the first.
inline constexpr int kMasksInFlight = 4;
// Limits of "staged". A channel's elements take about half of the shared memory at most.
inline constexpr int kMaxStagedMasks = 8192;
inline constexpr int64_t kMaxStagedPixels = 1 << 20;
// Channels that a staged block writes at a time, where their elements fit.
inline constexpr int kStagedPlanes = 2;

// col2im backward. "staged" takes 0.75x the time of "table" on C256 100x152 M4000 (half: 0.60x; H200).
inline constexpr int kGatherThreads = 512;
inline constexpr int kGatherBlocksPerSm = 2;  // with tables of kMaxShared bytes
// "staged": masks per thread, kept in registers.
inline constexpr int kMasksPerThread = 8;

// "table" of both directions of col2im, the fallback.
inline constexpr int64_t kTableThreadsPerSm = 2048;

}  // namespace mluop::masked_im2col
