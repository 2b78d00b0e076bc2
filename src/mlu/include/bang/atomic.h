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
  void (*combine)(void* memory, const void* operand);  // memory = result of memory and operand
  unsigned values = 1;                                 // elements of a scalar operand
};
// `operands`: in NRAM; size 0: a scalar. `old`: the old values in NRAM; NULL: not wanted.
BANG_API void Atomic(const AtomicCall& call, const End& gdram, const End& operands, void* old,
                     Where where);

template <class T, class Op>
AtomicCall MakeAtomic(const char* name, bool async, const Gate& gate, Op) {
  const auto combine = [](void* memory, const void* operand) {
    T m, o;
    std::memcpy(&m, memory, sizeof(T));
    std::memcpy(&o, operand, sizeof(T));
    const T result = Op()(m, o);
    m = Is2xx() && IsFinite(m) && IsFinite(o) ? Saturated(result) : result;
    std::memcpy(memory, &m, sizeof(T));
  };
  return {name, async, gate, sizeof(T), combine};
}

inline constexpr Gate kAtomicReduce = {372, {520, 0}};
inline constexpr Gate kAtomicReduce3D = {500, {520, 0}};
inline constexpr Gate kAtomicOld = {200, {322, 520}};

namespace intrinsics {

// name(gdram, nram, n) and name(gdram, value, n = 1), in the reduce_ forms; the forms that return
// the old values have nram_old before gdram.
#define BANG_ATOMIC_FORMS(name, Types, result, gate, is_async, old, ...)                       \
  template <Types T>                                                                           \
  void name(__VA_ARGS__ T* gdram, const T* nram, unsigned n, BANG_WHERE) {                     \
    const auto op = [](T m, T o) { return static_cast<T>(result); };                           \
    Atomic(MakeAtomic<T>(#name, is_async, gate, op), {gdram, n * sizeof(T)},                   \
           {nram, n * sizeof(T)}, old, where);                                                 \
  }                                                                                            \
  template <Types T>                                                                           \
  void name(__VA_ARGS__ T* gdram, Same<T> value, unsigned n = 1, BANG_WHERE) {                 \
    const auto op = [](T m, T o) { return static_cast<T>(result); };                           \
    Atomic(MakeAtomic<T>(#name, is_async, gate, op), {gdram, n * sizeof(T)}, {&value, 0}, old, \
           where);                                                                             \
  }
#define BANG_COMMA ,
#define BANG_ATOMIC_ASYNC(op, suffix, is_async, Types, value)                                 \
  BANG_ATOMIC_FORMS(__bang_atomic_reduce_##op##suffix, Types, value, kAtomicReduce, is_async, \
                    nullptr, )                                                                \
  BANG_ATOMIC_FORMS(__bang_atomic_##op##suffix, Types, value, kAtomicOld, is_async, nram_old, \
                    T* nram_old BANG_COMMA)
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

// reduce_cas: `value` takes the place of `expected`. The 3D form of reduce_add: strides in bytes.
#define BANG_ATOMIC_MORE(suffix, is_async)                                                       \
  template <FloatOrWide T>                                                                       \
  void __bang_atomic_reduce_cas##suffix(T* gdram, Same<T> expected, Same<T> value, BANG_WHERE) { \
    const T values[] = {expected, value};                                                        \
    const auto swap = [](void* memory, const void* operands) {                                   \
      const T* const o = static_cast<const T*>(operands);                                        \
      if (std::memcmp(memory, o, sizeof(T)) == 0) std::memcpy(memory, o + 1, sizeof(T));         \
    };                                                                                           \
    const char* const name = "__bang_atomic_reduce_cas" #suffix;                                 \
    Atomic({name, is_async, kAtomicReduce, sizeof(T), swap, 2}, {gdram, sizeof(T)}, {values, 0}, \
           nullptr, where);                                                                      \
  }                                                                                              \
  template <FloatOrWide T>                                                                       \
  void __bang_atomic_reduce_add##suffix(T* d, const T* s, unsigned n, unsigned segnum1,          \
                                        unsigned segnum2, int dst_stride0, int dst_stride1,      \
                                        int src_stride0, int src_stride1, BANG_WHERE) {          \
    const auto add = [](T m, T o) { return T(Wide(m) + Wide(o)); };                              \
    const char* const name = "__bang_atomic_reduce_add" #suffix;                                 \
    const auto to = Segments::Blocks(dst_stride0, segnum1, dst_stride1, segnum2);                \
    const auto from = Segments::Blocks(src_stride0, segnum1, src_stride1, segnum2);              \
    Atomic(MakeAtomic<T>(name, is_async, kAtomicReduce3D, add), {d, n * sizeof(T), to},          \
           {s, n * sizeof(T), from}, nullptr, where);                                            \
  }
BANG_ATOMIC_MORE(, false)
BANG_ATOMIC_MORE(_async, true)

}  // namespace intrinsics
}  // namespace bang
