// SPDX-License-Identifier: Apache-2.0
// CPU tuning parameters of the family, with measurements where there are some: hot, 2 threads, AVX-512
// unless it says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mluop::masked_im2col {

// Forward: masks of a work item, in bytes of a data_col row. Their corners stay in L1 over all kernel
// elements. Non-temporal stores are issued in bursts of this size: C256 100x152 M4000 k3 takes
// 1.12x the time with 1 KiB and 1.05x with 256 bytes.
inline constexpr int64_t kBlockBytes = 512;

// Backward: floats of a band's sums (1 MiB, which fits L2), and the minimum pixels of a band.
// Smaller bands spend more on scanning the masks than a thread gains.
inline constexpr int64_t kMaxSums = 262144;
inline constexpr int64_t kMinBand = 1024;
// Masks whose kernel elements are all added before the next masks. Changing it changes the order of
// additions, hence the results.
inline constexpr int64_t kSumMasks = 1024;

// col2im: elements of a tile: 32 KiB of floats, which fit L1.
inline constexpr int64_t kTileElements = 8192;
// col2im: outputs of this size are written with non-temporal stores. Below, C256 100x152 M4000 (15.6
// MB) takes 0.6x the time hot and 0.85x cold with ordinary stores (Zen 5, L3 of 32 MiB).
inline constexpr size_t kCol2imStreamBytes = size_t{16} << 20;

}  // namespace mluop::masked_im2col
