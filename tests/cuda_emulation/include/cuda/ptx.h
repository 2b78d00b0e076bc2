// SPDX-License-Identifier: Apache-2.0
// Replaces src/cuda/ptx.h.
#pragma once

#if defined(__CUDACC__)

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace mluop {

template <typename T>
T* DynamicShared() {
  return reinterpret_cast<T*>(emulation::DynamicShared());
}
inline uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(static_cast<const char*>(shared) - emulation::DynamicShared());
}

inline void PrefetchL2(const void*) {}

template <typename... Values>
void KeepInRegisters(Values&...) {}

inline void LoadGlobalIf(int offset, int loaded, const void* x_from, const void* y_from, uint4& x,
                         uint4& y) {
  if (offset == loaded) return;
  x = *static_cast<const uint4*>(x_from);
  y = *static_cast<const uint4*>(y_from);
}
inline void LoadSharedIf(int offset, int loaded, uint32_t x_from, uint32_t y_from, uint4& x,
                         uint4& y) {
  const char* const shared = emulation::DynamicShared();
  LoadGlobalIf(offset, loaded, shared + x_from, shared + y_from, x, y);
}

// Moves whole words, so that UndefinedBehaviorSanitizer checks the alignment.
inline void AtomicAddFour(float* to, const float (&values)[4]) {
  float4& sums = *reinterpret_cast<float4*>(to);
  sums = {sums.x + values[0], sums.y + values[1], sums.z + values[2], sums.w + values[3]};
}
inline void AtomicAddTwo(__half* to, __half first, __half second) {
  struct alignas(4) Pair {
    __half first, second;
  };
  Pair& sums = *reinterpret_cast<Pair*>(to);
  sums = {static_cast<float>(sums.first) + static_cast<float>(first),
          static_cast<float>(sums.second) + static_cast<float>(second)};
}

}  // namespace mluop

#endif
