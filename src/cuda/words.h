// SPDX-License-Identifier: Apache-2.0
// Vectorized stores on CUDA devices: several elements as one word of 2 to 16 bytes. Words are
// aligned to their size.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace mluop {

inline bool IsAligned(const void* data, size_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// The unsigned type of kBytes bytes.
template <size_t kBytes>
struct Word;
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = unsigned int;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

// V elements of T, aligned for one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T at[V];
};

#if defined(__CUDACC__)

// Stores with the evict-first policy (__stcs): kernels do not read outputs again.
template <typename P, typename T>
__device__ void StorePack(const P& pack, T* to) {
  using W = typename Word<sizeof(P)>::Type;
  __stcs(reinterpret_cast<W*>(to), std::bit_cast<W>(pack));
}

#endif

}  // namespace mluop
