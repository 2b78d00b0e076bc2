// SPDX-License-Identifier: Apache-2.0
// Comparison, minimum, maximum and logic. A comparison gives 1 or 0 in the element type.
#pragma once

#include <cmath>
#include <cstring>

#include "bang/arithmetic.h"

namespace bang {

template <class T>
bool IsNan(T x) {
  if constexpr (Float<T>) return std::isnan(static_cast<float>(x));
  return false;
}
// Comparisons with NaN are false, `ne` included.
template <class T>
bool Unequal(T x, T y) {
  return !IsNan(x) && !IsNan(y) && x != y;
}
// The other operand loses to a NaN.
template <class T>
T MaxEqual(T x, T y) {
  return y > x ? y : x;
}
template <class T>
T MinEqual(T x, T y) {
  return y < x ? y : x;
}
template <class T>
T Maximum(T x, T y) {
  return IsNan(x) || y > x ? y : x;
}
template <class T>
T Minimum(T x, T y) {
  return IsNan(x) || y < x ? y : x;
}
template <class T>
bool IsTrue(T x) {
  return x != T(0);
}
// Bits of an element, for the bitwise instructions.
template <class T, class Op>
T Bitwise(T x, T y, const Op& op) {
  unsigned char a[sizeof(T)], b[sizeof(T)];
  std::memcpy(a, &x, sizeof(T));
  std::memcpy(b, &y, sizeof(T));
  for (size_t i = 0; i < sizeof(T); ++i) a[i] = static_cast<unsigned char>(op(a[i], b[i]));
  std::memcpy(&x, a, sizeof(T));
  return x;
}
template <class T>
T BitAnd(T x, T y) {
  return Bitwise(x, y, [](int a, int b) { return a & b; });
}
template <class T>
T BitOr(T x, T y) {
  return Bitwise(x, y, [](int a, int b) { return a | b; });
}
template <class T>
T BitXor(T x, T y) {
  return Bitwise(x, y, [](int a, int b) { return a ^ b; });
}

}  // namespace bang

// Result i goes to bit i of d.
#define BANG_BITINDEX(name, test)                                                              \
  template <::bang::Float T>                                                                   \
  void name(T* d, const T* a, const T* b, unsigned n, ::bang::Where where = ::bang::Where()) { \
    using namespace bang;                                                                      \
    static constexpr Instruction kInstruction = {#name, Kind::kComparison, Rule::kNone};       \
    RequireBitIndex(#name, n, where);                                                          \
    auto* const bytes = reinterpret_cast<unsigned char*>(d);                                   \
    const Issued issued = Issue(kInstruction, Flow::kAll, n,                                   \
                                {Out(bytes, n / 8), In("a", a, n), In("b", b, n)}, where);     \
    if (!issued) return;                                                                       \
    for (unsigned i = 0; i < n; i += 8) {                                                      \
      unsigned char byte = 0;                                                                  \
      for (unsigned k = 0; k < 8; ++k) {                                                       \
        const T x = a[i + k], y = b[i + k];                                                    \
        byte = static_cast<unsigned char>(byte | (test) << k);                                 \
      }                                                                                        \
      bytes[i / 8] = byte;                                                                     \
    }                                                                                          \
  }

namespace bang {

inline void RequireBitIndex(const char* name, unsigned n, Where where) {
  const unsigned step = Is2xx() ? 512 : 8;
  if (n % step != 0) Violate(name, where, "n must be a multiple of %u, got %u", step, n);
}

}  // namespace bang

#define BANG_COMPARISON(op, test, scalar_gate)                                                     \
  BANG_BINARY(__bang_##op, ::bang::AnyNumber, kComparison, kAnySource, k2xx, kEverywhere, T(test)) \
  BANG_SCALAR(__bang_##op##_scalar, ::bang::AnyNumber, kComparison, k2xx, scalar_gate, T(test))    \
  BANG_CYCLE(__bang_cycle_##op, ::bang::Number, kComparison, T(test))                              \
  BANG_BITINDEX(__bang_##op##_bitindex, test)
BANG_COMPARISON(eq, x == y, kFrom322)
BANG_COMPARISON(ne, Unequal(x, y), kFrom322)
BANG_COMPARISON(lt, x < y, kFrom322)
BANG_COMPARISON(le, x <= y, kFrom322)
BANG_COMPARISON(gt, x > y, kFrom322)
BANG_COMPARISON(ge, x >= y, kEverywhere)
#undef BANG_COMPARISON
#undef BANG_BITINDEX

BANG_BINARY(__bang_maxequal, ::bang::AnyNumber, kComparison, kNoAlias, k2xx, kEverywhere,
            MaxEqual(x, y))
BANG_BINARY(__bang_minequal, ::bang::AnyNumber, kComparison, kNoAlias, k2xx, kEverywhere,
            MinEqual(x, y))
BANG_SCALAR(__bang_maxeq_scalar, ::bang::AnyNumber, kComparison, kNone, kFrom322, MaxEqual(x, y))
BANG_SCALAR(__bang_mineq_scalar, ::bang::AnyNumber, kComparison, kNone, kFrom322, MinEqual(x, y))
BANG_CYCLE(__bang_cycle_maxequal, ::bang::AnyNumber, kComparison, MaxEqual(x, y))
BANG_CYCLE(__bang_cycle_minequal, ::bang::AnyNumber, kComparison, MinEqual(x, y))
BANG_BINARY(__bang_maximum, ::bang::Float, kComparison, kAnySource, kNone, kFrom520, Maximum(x, y))
BANG_BINARY(__bang_minimum, ::bang::Float, kComparison, kAnySource, kNone, kFrom520, Minimum(x, y))
BANG_BINARY(__bang_nan_maximum, ::bang::Float, kComparison, kAnySource, kNone, kFrom520,
            IsNan(y) ? y : MaxEqual(x, y))
BANG_BINARY(__bang_nan_minimum, ::bang::Float, kComparison, kAnySource, kNone, kFrom520,
            IsNan(y) ? y : MinEqual(x, y))

#define BANG_LOGIC(op, test)                                                             \
  BANG_BINARY(__bang_##op, ::bang::Number, kLogic, kNoAlias, k2xx, kEverywhere, T(test)) \
  BANG_SCALAR(__bang_##op##_scalar, ::bang::Number, kLogic, kNone, kFrom322, T(test))    \
  BANG_CYCLE(__bang_cycle_##op, ::bang::Number, kLogic, T(test))
BANG_LOGIC(and, IsTrue(x) && IsTrue(y))
BANG_LOGIC(or, IsTrue(x) || IsTrue(y))
BANG_LOGIC(xor, IsTrue(x) != IsTrue(y))
#undef BANG_LOGIC
BANG_UNARY(__bang_not, ::bang::Number, kLogic, true, k2xx, kEverywhere, T(!IsTrue(x)))

// n counts bytes, except in the scalar forms.
#define BANG_BITS(op, value)                                                          \
  BANG_BINARY(__bang_b##op, ::bang::Byte, kLogic, kNoAlias, k2xx, kEverywhere, value) \
  BANG_CYCLE(__bang_cycle_b##op, ::bang::Byte, kLogic, value)                         \
  BANG_SCALAR(__bang_b##op##_scalar, ::bang::Number, kLogic, kNone, kFrom322, value)
BANG_BITS(and, BitAnd(x, y))
BANG_BITS(or, BitOr(x, y))
BANG_BITS(xor, BitXor(x, y))
#undef BANG_BITS
BANG_UNARY(__bang_bnot, ::bang::Byte, kLogic, true, k2xx, kEverywhere, T(~x))

#define BANG_SHIFT(name, Types, value)                                                             \
  template <Types T>                                                                               \
  void name(T* d, const T* a, unsigned shift, unsigned n, ::bang::Where where = ::bang::Where()) { \
    using namespace bang;                                                                          \
    static constexpr Instruction kInstruction = {#name, Kind::kLogic, Rule::kNone, kFrom322};      \
    Require(shift < 8 * sizeof(T), #name, where,                                                   \
            "shift must be less than the bits of an element");                                     \
    const Issued issued =                                                                          \
        Issue(kInstruction, Flow::kElements, n, {Out(d, n), In("a", a, n)}, where);                \
    if (!issued) return;                                                                           \
    for (unsigned i = 0; i < n; ++i) d[i] = static_cast<T>(value);                                 \
  }
BANG_SHIFT(__bang_sll, ::std::integral, static_cast<std::make_unsigned_t<T>>(a[i]) << shift)
BANG_SHIFT(__bang_srl, ::bang::Unsigned, a[i] >> shift)
BANG_SHIFT(__bang_sra, ::bang::Int, a[i] >> shift)
#undef BANG_SHIFT

// The value at byte 0 of d, a 32-bit index directly behind it. The first extreme wins.
#define BANG_ARGUMENT(name, better, nan_wins, gate)                                            \
  template <::bang::Float T>                                                                   \
  void name(T* d, const T* a, unsigned n, ::bang::Where where = ::bang::Where()) {             \
    using namespace bang;                                                                      \
    static constexpr Instruction kInstruction = {#name, Kind::kComparison, Rule::kNone, gate}; \
    auto* const bytes = reinterpret_cast<unsigned char*>(d);                                   \
    const Issued issued =                                                                      \
        Issue(kInstruction, Flow::kAll, n, {Out(bytes, sizeof(T) + 4), In("a", a, n)}, where); \
    if (!issued) return;                                                                       \
    T best = a[0];                                                                             \
    uint32_t index = 0;                                                                        \
    for (uint32_t i = 1; i < n; ++i) {                                                         \
      const float x = a[i], y = best;                                                          \
      const bool wins = nan_wins ? !IsNan(best) && (IsNan(a[i]) || better)                     \
                                 : !IsNan(a[i]) && (IsNan(best) || better);                    \
      if (!wins) continue;                                                                     \
      best = a[i];                                                                             \
      index = i;                                                                               \
    }                                                                                          \
    std::memcpy(bytes, &best, sizeof(T));                                                      \
    std::memcpy(bytes + sizeof(T), &index, sizeof(index));                                     \
  }
BANG_ARGUMENT(__bang_argmax, x > y, false, kFrom322)
BANG_ARGUMENT(__bang_argmin, x < y, false, kFrom322)
BANG_ARGUMENT(__bang_nan_argmax, x > y, true, kFrom520)
BANG_ARGUMENT(__bang_nan_argmin, x < y, true, kFrom520)
#undef BANG_ARGUMENT
