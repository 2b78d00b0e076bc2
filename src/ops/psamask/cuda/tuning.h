// SPDX-License-Identifier: Apache-2.0
// CUDA tuning parameters of psamask, with measurements where there are some (NVIDIA H200).
#pragma once

namespace mluop::psamask {

inline constexpr int kThreads = 256;  // of a block

// Resident blocks per SM. The bound leaves registers for all of a thread's loads to be in flight at
// once; without it the compiler saves registers and waits for the first loads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // 1024 threads per SM
inline constexpr int kBlocksPerSm = 4;
#else
inline constexpr int kBlocksPerSm = 6;
#endif

// Elements that a thread of "tiles" loads before its first store to shared
// memory: 0.97x the time of 8.
inline constexpr int kBatch = 16;

}  // namespace mluop::psamask
