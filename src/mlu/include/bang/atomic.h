// SPDX-License-Identifier: Apache-2.0
// Atomics on GDRAM. Each element is one atomic step; the order between cores is free.
#pragma once

#include <cstring>

#include "bang/arithmetic.h"
#include "bang/copy.h"

namespace bang {

struct AtomicCall {
  const char* name;
  bool async;
  Gate gate;
  unsigned width;
  void (*combine)(void* memory, const void* operands);  // memory = result of memory and 2 operands
};
// `operands`: in NRAM; size 0: two scalars. `old`: the old values in NRAM; NULL: not wanted.
BANG_API void Atomic(const AtomicCall& call, const End& gdram, const End& operands, void* old,
                     Where where);

template <class T, class Op>
AtomicCall MakeAtomic(const char* name, bool async, const Gate& gate, Op) {
  const auto combine = [](void* memory, const void* operands) {
    T m, o[2];
    std::memcpy(&m, memory, sizeof(T));
    std::memcpy(o, operands, sizeof(o));
    const T result = Op()(m, o[0], o[1]);
    m = Is2xx() && IsFinite(m) && IsFinite(o[0]) ? Saturated(result) : result;
    std::memcpy(memory, &m, sizeof(T));
  };
  return {name, async, gate, sizeof(T), combine};
}

inline constexpr Gate kAtomicReduce = {372, {520, 0}};
inline constexpr Gate kAtomicReduce3D = {500, {520, 0}};
inline constexpr Gate kAtomicOld = {200, {322, 520}};

namespace intrinsics {

// Combines element m of GDRAM with o, and with o2 of two scalars; `old` as in Atomic.
#define BANG_ATOMIC_FORM(name, is_async, gate, Types, result, gdram, operands, old, ...)    \
  template <Types T>                                                                        \
  void name(__VA_ARGS__, BANG_WHERE) {                                                      \
    const auto op = [](T m, T o, [[maybe_unused]] T o2) { return static_cast<T>(result); }; \
    Atomic(MakeAtomic<T>(#name, is_async, gate, op), gdram, operands, old, where);          \
  }
#define BANG_SCALARS(...) EndOf(std::array<T, 2>{__VA_ARGS__}.data(), 0)
// The last parameters are a vector, or a scalar for all elements.
#define BANG_ATOMIC_PAIR(name, is_async, gate, Types, result, old, ...)                            \
  BANG_ATOMIC_FORM(name, is_async, gate, Types, result, EndOf(gdram, n), EndOf(nram, n), old,      \
                   __VA_ARGS__ const T* nram, unsigned n)                                          \
  BANG_ATOMIC_FORM(name, is_async, gate, Types, result, EndOf(gdram, n), BANG_SCALARS(value), old, \
                   __VA_ARGS__ Same<T> value, unsigned n = 1)
#define BANG_ATOMIC_ASYNC(op, suffix, is_async, Types, result)                                \
  BANG_ATOMIC_PAIR(__bang_atomic_reduce_##op##suffix, is_async, kAtomicReduce, Types, result, \
                   nullptr, T* gdram, )                                                       \
  BANG_ATOMIC_PAIR(__bang_atomic_##op##suffix, is_async, kAtomicOld, Types, result, nram_old, \
                   T* nram_old, T* gdram, )
#define BANG_ATOMIC(op, Types, value)          \
  BANG_ATOMIC_ASYNC(op, , false, Types, value) \
  BANG_ATOMIC_ASYNC(op, _async, true, Types, value)
BANG_ATOMIC(add, FloatOrWide, Wide(m) + Wide(o))
BANG_ATOMIC(max, FloatOrWide, o > m ? o : m)
BANG_ATOMIC(min, FloatOrWide, o < m ? o : m)
BANG_ATOMIC(exch, FloatOrWide, (static_cast<void>(m), o))
BANG_ATOMIC(and, WideInteger, m& o)
BANG_ATOMIC(or, WideInteger, m | o)
BANG_ATOMIC(xor, WideInteger, m ^ o)
BANG_ATOMIC(inc, WideInteger, m >= o ? 0 : m + 1)
BANG_ATOMIC(dec, WideInteger, m == 0 || m > o ? o : m - 1)

// Strides in bytes.
#define BANG_ATOMIC_ADD_3D(name, is_async)                                                     \
  BANG_ATOMIC_FORM(name, is_async, kAtomicReduce3D, FloatOrWide, Wide(m) + Wide(o),            \
                   EndOf(d, n, Segments::Blocks(dst_stride0, segnum1, dst_stride1, segnum2)),  \
                   EndOf(s, n, Segments::Blocks(src_stride0, segnum1, src_stride1, segnum2)),  \
                   nullptr, T * d, const T* s, unsigned n, unsigned segnum1, unsigned segnum2, \
                   int dst_stride0, int dst_stride1, int src_stride0, int src_stride1)
BANG_ATOMIC_ADD_3D(__bang_atomic_reduce_add, false)
BANG_ATOMIC_ADD_3D(__bang_atomic_reduce_add_async, true)

// `value` takes the place of `expected`.
#define BANG_ATOMIC_CAS(name, is_async)                                                 \
  BANG_ATOMIC_FORM(name, is_async, kAtomicReduce, FloatOrWide,                          \
                   std::memcmp(&m, &o, sizeof(T)) == 0 ? o2 : m, EndOf(gdram, 1),       \
                   BANG_SCALARS(expected, value), nullptr, T * gdram, Same<T> expected, \
                   Same<T> value)
BANG_ATOMIC_CAS(__bang_atomic_reduce_cas, false)
BANG_ATOMIC_CAS(__bang_atomic_reduce_cas_async, true)

}  // namespace intrinsics
}  // namespace bang
