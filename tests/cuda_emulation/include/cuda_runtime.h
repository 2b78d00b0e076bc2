// SPDX-License-Identifier: Apache-2.0
// nvcc includes this header before a .cu file: the built-in variables and functions of device code.
#pragma once

#include <cuda_runtime_api.h>
#include <math.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "block.h"

#define threadIdx emulation::thread_index
#define blockIdx emulation::block_index
#define blockDim emulation::block_size
#define gridDim emulation::grid_size

using std::isfinite;
using std::isinf;
using std::isnan;
template <class A, class B>
using CommonNumber =
    std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>>;
// A NaN loses, as on the device.
template <class A, class B>
constexpr CommonNumber<A, B> max(A first, B second) {
  const CommonNumber<A, B> a = first, b = second;
  return a != a || a < b ? b : a;
}
template <class A, class B>
constexpr CommonNumber<A, B> min(A first, B second) {
  const CommonNumber<A, B> a = first, b = second;
  return a != a || b < a ? b : a;
}

inline int __popc(unsigned value) { return std::popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((uint64_t{a} * b) >> 32);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = uint64_t{high} << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}
inline float __int_as_float(int value) { return std::bit_cast<float>(value); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline double __longlong_as_double(long long value) { return std::bit_cast<double>(value); }
inline long long __float2ll_rn(float value) { return llrintf(value); }
inline float __double2float_rn(double value) { return static_cast<float>(value); }

// Loads and stores with a cache policy.
template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, std::type_identity_t<T> value) {
  *to = value;
}
template <class T>
void __stcg(T* to, std::type_identity_t<T> value) {
  *to = value;
}

// Atomic operations return the value before. One thread runs at a time.
template <class T, class Change>
T ChangeValue(T* at, const Change& change) {
  const T before = *at;
  *at = change(before);
  return before;
}
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  if constexpr (std::is_integral_v<T>) {  // wraps
    using Unsigned = std::make_unsigned_t<T>;
    return ChangeValue(at, [&](T old) {
      return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
    });
  } else {
    return ChangeValue(at, [&](T old) { return old + value; });
  }
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return ChangeValue(at, [&](T old) { return max(old, value); });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return ChangeValue(at, [&](T old) { return min(old, value); });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return ChangeValue(at, [&](T old) { return old | value; });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return ChangeValue(at, [&](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return ChangeValue(at, [&](T old) { return old == expected ? value : old; });
}
inline void __threadfence() {}

// Barriers of a block.
using emulation::Place;
inline void __syncthreads(Place place = Place::Here()) { emulation::Barrier(false, place); }
inline int __syncthreads_or(int value, Place place = Place::Here()) {
  return emulation::Barrier(value != 0, place) != 0;
}
inline int __syncthreads_count(int value, Place place = Place::Here()) {
  return emulation::Barrier(value != 0, place);
}

// Intrinsics of a warp. Values have at most 8 bytes.
template <class T>
uint64_t ToWord(T value) {
  uint64_t word = 0;
  __builtin_memcpy(&word, &value, sizeof(value));
  return word;
}
template <class T>
T FromWord(uint64_t word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof(value));
  return value;
}
inline void __syncwarp(unsigned mask = ~0u, Place place = Place::Here()) {
  emulation::Meet("__syncwarp", mask, 0, place);
}
inline unsigned __ballot_sync(unsigned mask, int value, Place place = Place::Here()) {
  const emulation::Met& met = emulation::Meet("__ballot_sync", mask, value != 0 ? 1 : 0, place);
  unsigned result = 0;
  for (int lane = 0; lane < emulation::kLanes; ++lane)
    result |= static_cast<unsigned>(met.values[lane]) << lane;
  return result;
}
inline int __any_sync(unsigned mask, int value, Place place = Place::Here()) {
  return __ballot_sync(mask, value, place) != 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, Place place = Place::Here()) {
  const uint64_t own = ToWord(value);
  const emulation::Met& met = emulation::Meet("__match_any_sync", mask, own, place);
  unsigned result = 0;
  for (int lane = 0; lane < emulation::kLanes; ++lane)
    result |= (met.lanes >> lane & 1 & (met.values[lane] == own ? 1u : 0u)) << lane;
  return result;
}
template <class T>
T Shuffle(const char* name, unsigned mask, T value, int lane, Place place) {
  const emulation::Met& met = emulation::Meet(name, mask, ToWord(value), place);
  if ((met.lanes >> lane & 1) == 0) emulation::Fail("reads a lane that does not take part", place);
  return FromWord<T>(met.values[lane]);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, Place place = Place::Here()) {
  return Shuffle("__shfl_sync", mask, value, lane & 31, place);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, Place place = Place::Here()) {
  return Shuffle("__shfl_xor_sync", mask, value, (threadIdx.x ^ bits) & 31, place);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, Place place = Place::Here()) {
  const unsigned own = threadIdx.x & 31, lane = own < distance ? own : own - distance;
  return Shuffle("__shfl_up_sync", mask, value, static_cast<int>(lane), place);
}
