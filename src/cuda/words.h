// SPDX-License-Identifier: Apache-2.0
// Vectorized loads and stores on CUDA devices: several elements as one word of 2 to 16 bytes. Words are
// aligned to their size.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mluop {

inline bool IsAligned(const void* data, size_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// The unsigned type of kBytes bytes: 2, 4, 8 or 16.
template <size_t kBytes>
using Word = std::conditional_t<
    kBytes == 2, unsigned short,
    std::conditional_t<kBytes == 4, unsigned int, std::conditional_t<kBytes == 8, uint2, uint4>>>;

// V elements of T, aligned for one access.
template <typename T, int V>
struct alignas(sizeof(T) * V) Pack {
  T at[V];
};

#if defined(__CUDACC__)

// The type that tensors of T are computed in.
template <typename T>
using RealOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The elements of T that one access of at most 16 bytes moves, of V.
template <typename T, int V>
inline constexpr int kPackSize = V * sizeof(T) > 16 ? 16 / sizeof(T) : V;

// Stores with the evict-first policy (__stcs): kernels do not read outputs again.
template <typename P, typename T>
__device__ void StorePack(const P& pack, T* to) {
  using W = Word<sizeof(P)>;
  __stcs(reinterpret_cast<W*>(to), std::bit_cast<W>(pack));
}

// A warp stores value(i) to to[i] for the i in [begin, begin + count) among `first` + 32 * run of its
// lanes. All values are computed before the first store.
template <int kRuns, typename T, class Value>
__device__ void StoreRuns(int first, int begin, uint32_t count, T* to, const Value& value) {
  T values[kRuns];
  bool is_owned[kRuns];
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    const int i = first + run * 32;
    is_owned[run] = static_cast<uint32_t>(i - begin) < count;
    values[run] = is_owned[run] ? value(i) : T{0};
  }
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    if (is_owned[run]) to[first + run * 32] = values[run];
  }
}

// Loads and converts V elements. Half becomes float, exactly.
template <typename T, typename U, int V>
__device__ void LoadElements(const T* from, U (&to)[V]) {
  constexpr int kStep = kPackSize<T, V>;
  using W = Word<kStep * sizeof(T)>;
#pragma unroll
  for (int i = 0; i < V; i += kStep) {
    const auto pack = std::bit_cast<Pack<T, kStep>>(*reinterpret_cast<const W*>(from + i));
#pragma unroll
    for (int k = 0; k < kStep; ++k) to[i + k] = static_cast<U>(pack.at[k]);
  }
}

// Converts and stores V elements as StorePack. Rounds to nearest even.
template <typename T, typename U, int V>
__device__ void StoreElements(T* to, const U (&from)[V]) {
  constexpr int kStep = kPackSize<T, V>;
#pragma unroll
  for (int i = 0; i < V; i += kStep) {
    Pack<T, kStep> pack;
#pragma unroll
    for (int k = 0; k < kStep; ++k) pack.at[k] = static_cast<T>(from[i + k]);
    StorePack(pack, to + i);
  }
}

#endif

}  // namespace mluop
