// SPDX-License-Identifier: Apache-2.0
// CUDA tuning parameters of the family.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::masked_conv2d {

// The tile of a block: masked positions by outputs. The terms of a sum are split among up to
// kMaxSplits blocks, so that few masked positions occupy all SMs.
inline constexpr int kTile = 128;
inline constexpr int kThreads = 256;
inline constexpr int kMaxSplits = 4;
// A split has at least this many terms, so that its partial sums cost little beside it.
inline constexpr int64_t kMinTerms = 512;
// The most partial sums of an image whose terms are split. With a quarter of its positions masked
// they fill 256 tiles, two for each of 128 SMs.
inline constexpr int64_t kManySums = int64_t{4 * 256} * kTile * kTile;
// Tiles of terms in flight. Three take 60 KiB, which every architecture from sm_75 on gives a block.
inline constexpr int kStages = 3;

// Positions, arranged features and partial sums of a batch, unless one image has more. They bound
// the scratch.
inline constexpr int64_t kBatchPositions = 1 << 15, kBatchFeatures = 1 << 24, kBatchSums = 1 << 26;

// The most scratch of one image. Larger images use "direct": an image of 8192x8192 pixels with three
// channels and outputs would take 36 GiB (computed), because tiles pad channels and outputs.
inline constexpr size_t kMaxScratch = size_t{4} << 30;

// The tile of the kernels that transpose features and sums.
inline constexpr int kSquare = 64;

}  // namespace mluop::masked_conv2d
