// SPDX-License-Identifier: Apache-2.0
// Atomics on GDRAM. Each element is one atomic step; the order between cores is free.
#pragma once

#include <cstring>

#include "bang/arithmetic.h"

namespace bang {

struct AtomicCall {
  const char* name;
  Gate gate;
  void* gdram;
  const void* operands;  // `count` elements in NRAM, or one value if `is_value`
  void* old;             // the old values in NRAM; NULL: not wanted
  unsigned count;
  unsigned width;
  bool is_value;
  bool async;
  // result = combine(memory, operand)
  void (*combine)(void* memory, const void* operand);
};
BANG_API void Atomic(const AtomicCall& call, Where where);

template <class T, class Op>
void Combine(void* memory, const void* operand) {
  T m, o;
  std::memcpy(&m, memory, sizeof(T));
  std::memcpy(&o, operand, sizeof(T));
  m = Op()(m, o);
  std::memcpy(memory, &m, sizeof(T));
}

template <class T>
concept Atomic16Or32 = kIsOneOf<T, half, float, short, int, unsigned short, unsigned>;

inline constexpr Gate kAtomicReduce = {372, {520, 0}};
inline constexpr Gate kAtomicOld = {200, {322, 520}};

// clang-format off
struct AtomicAdd { template <class T> T operator()(T m, T o) const { return Add(m, o); } };
struct AtomicMax { template <class T> T operator()(T m, T o) const { return o > m ? o : m; } };
struct AtomicMin { template <class T> T operator()(T m, T o) const { return o < m ? o : m; } };
struct AtomicAnd { template <class T> T operator()(T m, T o) const { return static_cast<T>(m & o); } };
struct AtomicOr { template <class T> T operator()(T m, T o) const { return static_cast<T>(m | o); } };
struct AtomicXor { template <class T> T operator()(T m, T o) const { return static_cast<T>(m ^ o); } };
struct AtomicExch { template <class T> T operator()(T, T o) const { return o; } };
struct AtomicInc { template <class T> T operator()(T m, T o) const { return m >= o ? T(0) : static_cast<T>(m + 1); } };
struct AtomicDec { template <class T> T operator()(T m, T o) const { return m == T(0) || m > o ? o : static_cast<T>(m - 1); } };
// clang-format on

}  // namespace bang

// name(gdram, nram, n), name(gdram, value, n = 1).
#define BANG_ATOMIC_REDUCE(name, Types, Op, is_async)                                         \
  template <Types T>                                                                          \
  void name(T* gdram, const T* nram, unsigned n, ::bang::Where where = ::bang::Where()) {     \
    ::bang::Atomic({#name, ::bang::kAtomicReduce, gdram, nram, nullptr, n, sizeof(T), false,  \
                    is_async, ::bang::Combine<T, ::bang::Op>},                                \
                   where);                                                                    \
  }                                                                                           \
  template <Types T>                                                                          \
  void name(T* gdram, ::bang::Same<T> value, unsigned n = 1,                                  \
            ::bang::Where where = ::bang::Where()) {                                          \
    ::bang::Atomic({#name, ::bang::kAtomicReduce, gdram, &value, nullptr, n, sizeof(T), true, \
                    is_async, ::bang::Combine<T, ::bang::Op>},                                \
                   where);                                                                    \
  }
// name(nram_old, gdram, value, n = 1), name(nram_old, gdram, nram, n).
#define BANG_ATOMIC_OLD(name, Types, Op, is_async)                                          \
  template <Types T>                                                                        \
  void name(T* nram_old, T* gdram, const T* nram, unsigned n,                               \
            ::bang::Where where = ::bang::Where()) {                                        \
    ::bang::Atomic({#name, ::bang::kAtomicOld, gdram, nram, nram_old, n, sizeof(T), false,  \
                    is_async, ::bang::Combine<T, ::bang::Op>},                              \
                   where);                                                                  \
  }                                                                                         \
  template <Types T>                                                                        \
  void name(T* nram_old, T* gdram, ::bang::Same<T> value, unsigned n = 1,                   \
            ::bang::Where where = ::bang::Where()) {                                        \
    ::bang::Atomic({#name, ::bang::kAtomicOld, gdram, &value, nram_old, n, sizeof(T), true, \
                    is_async, ::bang::Combine<T, ::bang::Op>},                              \
                   where);                                                                  \
  }
#define BANG_ATOMIC(op, Types, Op)                                       \
  BANG_ATOMIC_REDUCE(__bang_atomic_reduce_##op, Types, Op, false)        \
  BANG_ATOMIC_REDUCE(__bang_atomic_reduce_##op##_async, Types, Op, true) \
  BANG_ATOMIC_OLD(__bang_atomic_##op, Types, Op, false)                  \
  BANG_ATOMIC_OLD(__bang_atomic_##op##_async, Types, Op, true)
BANG_ATOMIC(add, ::bang::Atomic16Or32, AtomicAdd)
BANG_ATOMIC(max, ::bang::Atomic16Or32, AtomicMax)
BANG_ATOMIC(min, ::bang::Atomic16Or32, AtomicMin)
BANG_ATOMIC(exch, ::bang::Atomic16Or32, AtomicExch)
BANG_ATOMIC(and, ::std::integral, AtomicAnd)
BANG_ATOMIC(or, ::std::integral, AtomicOr)
BANG_ATOMIC(xor, ::std::integral, AtomicXor)
BANG_ATOMIC(inc, ::std::integral, AtomicInc)
BANG_ATOMIC(dec, ::std::integral, AtomicDec)
#undef BANG_ATOMIC
#undef BANG_ATOMIC_REDUCE
#undef BANG_ATOMIC_OLD
