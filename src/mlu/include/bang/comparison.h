// SPDX-License-Identifier: Apache-2.0
// Comparison, minimum, maximum and logic. A comparison gives 1 or 0 in the element type.
#pragma once

#include <bit>
#include <cmath>
#include <functional>

#include "bang/arithmetic.h"
#include "bang/unknown.h"

namespace bang {

template <class T>
bool IsNan(T x) {
  return std::isnan(static_cast<float>(x));
}
template <class T>
bool IsTrue(T x) {
  return x != T(0);
}
// Applies `op` to the bits of two elements.
template <class T, class Op>
T Bitwise(T x, T y, const Op& op) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>;
  return std::bit_cast<T>(static_cast<Bits>(op(std::bit_cast<Bits>(x), std::bit_cast<Bits>(y))));
}

// `step_2xx`: the step of n on 2xx; later architectures need whole bytes.
inline void RequireBits(const char* name, unsigned n, unsigned step_2xx, Where where) {
  const unsigned step = Is2xx() ? step_2xx : 8;
  if (n % step != 0) Violate(name, where, "n must be a multiple of %u, got %u", step, n);
}

// Result i goes to bit i of d.
template <class T, class Test>
void BitIndex(const char* name, T* d, const T* a, const T* b, unsigned n, Where where,
              const Test& test) {
  RequireBits(name, n, 512, where);
  auto* const bytes = reinterpret_cast<unsigned char*>(d);
  Compute({name, kComparison, k2xx64, kEverywhere}, where, n,
          {Out("dst", bytes, n / 8), In("a", a, n), In("b", b, n)}, bytes, n / 8,
          [&](size_t byte, Reader& read) {
            unsigned bits = 0;
            for (size_t k = 0; k < 8; ++k)
              bits |= unsigned{test(read(a + 8 * byte + k), read(b + 8 * byte + k))} << k;
            return static_cast<unsigned char>(bits);
          });
}

// The value at byte 0 of d, a 32-bit index directly behind it. The first extreme wins. Two
// descriptions of a NaN in the first element disagree: here NaNs are skipped unless `nan_wins`.
template <class T, class Better>
void ArgExtreme(const Instruction& instruction, T* d, const T* a, unsigned n, bool nan_wins,
                unsigned alias_a, Where where, const Better& better) {
  auto* const bytes = reinterpret_cast<unsigned char*>(d);
  // The old names have no alias, and on 2xx a result of 128 bytes.
  const size_t size = alias_a == kNoAlias && Is2xx() ? 128 : sizeof(T) + 4;
  const Issued issued =
      Issue(instruction, n, {Out("dst", bytes, size), In("a", a, n, alias_a)}, where);
  if (!issued) return;
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; ++i) {
    const float x = a[i], y = a[best];
    if (IsNan(x) == IsNan(y) ? better(x, y) : IsNan(nan_wins ? x : y)) best = i;
  }
  issued.Put(bytes, T(a[best]), issued.all_written());
  issued.Put(bytes + sizeof(T), best, issued.all_written());
}

namespace intrinsics {

#define BANG_BITINDEX(name, test)                                      \
  template <Float T>                                                   \
  void name(T* d, const T* a, const T* b, unsigned n, BANG_WHERE) {    \
    BitIndex(#name, d, a, b, n, where, [](T x, T y) { return test; }); \
  }
#define BANG_COMPARISON(op, Types, test, scalar_gate)                              \
  BANG_BINARY(__bang_##op, Types, kAlias, test, kComparison)                       \
  BANG_SCALAR(__bang_##op##_scalar, Element, test, kComparison, k2xx, scalar_gate) \
  BANG_CYCLE(__bang_cycle_##op, Number, test, kComparison)                         \
  BANG_BITINDEX(__bang_##op##_bitindex, test)
// Comparisons with NaN are false, `ne` included.
BANG_COMPARISON(eq, Number, x == y, kFrom322)
BANG_COMPARISON(ne, Number, x<y || x> y, kFrom322)
BANG_COMPARISON(lt, Element, x < y, kFrom322)
BANG_COMPARISON(le, Element, x <= y, kFrom322)
BANG_COMPARISON(gt, Element, x > y, kFrom322)
BANG_COMPARISON(ge, Element, x >= y, kIntegersFrom322)

// The first operand, if either is NaN.
#define BANG_EXTREME(op, scalar_name, value)                               \
  BANG_BINARY(__bang_##op, Element, kNoAlias, value, kComparison)          \
  BANG_SCALAR(scalar_name, Element, value, kComparison, kNoRule, kFrom322) \
  BANG_CYCLE(__bang_cycle_##op, Element, value, kComparison)
BANG_EXTREME(maxequal, __bang_maxeq_scalar, y > x ? y : x)
BANG_EXTREME(minequal, __bang_mineq_scalar, y < x ? y : x)
#define BANG_FROM520(op, value) \
  BANG_BINARY(__bang_##op, Float, kAlias, value, kComparison, kNoRule, kFrom520)
BANG_FROM520(maximum, IsNan(x) || y > x ? y : x)
BANG_FROM520(minimum, IsNan(x) || y < x ? y : x)
#define BANG_DISTANCE "deprecated with a distance, whose meaning is not described"
BANG_UNKNOWN_FORM(__bang_maximum, Float, BANG_DISTANCE, T*, const T*, int, unsigned)
BANG_UNKNOWN_FORM(__bang_minimum, Float, BANG_DISTANCE, T*, const T*, int, unsigned)
BANG_FROM520(nan_maximum, IsNan(y) || y > x ? y : x)
BANG_FROM520(nan_minimum, IsNan(y) || y < x ? y : x)

#define BANG_BYTES "deprecated for this type, and the unit of n is not described: cast to char*"
// Logic on elements (`op`), and on bits (`b##op`), whose n counts bytes except with a scalar.
#define BANG_LOGIC(op, test, bits)                                                                 \
  BANG_BINARY(__bang_##op, Number, kNoAlias, test, kLogic)                                         \
  BANG_SCALAR(__bang_##op##_scalar, Number, test, kLogic, kNoRule, kFrom322)                       \
  BANG_CYCLE(__bang_cycle_##op, Number, test, kLogic)                                              \
  BANG_BINARY(__bang_b##op, Byte, kNoAlias, x bits y, kLogic, k2xx, kEverywhere)                   \
  BANG_CYCLE(__bang_cycle_b##op, Byte, x bits y, kLogic, k2xx, kEverywhere)                        \
  BANG_UNKNOWN_FORM(__bang_b##op, FloatOrWide, BANG_BYTES, T*, const T*, const T*, unsigned)       \
  BANG_UNKNOWN_FORM(__bang_cycle_b##op, FloatOrWide, BANG_BYTES, T*, const T*, const T*, unsigned, \
                    unsigned)                                                                      \
  BANG_SCALAR(__bang_b##op##_scalar, Number,                                                       \
              Bitwise(x, y, [](auto p, auto q) { return p bits q; }), kLogic, kNoRule, kFrom322)
BANG_LOGIC(and, IsTrue(x) && IsTrue(y), &)
BANG_LOGIC(or, IsTrue(x) || IsTrue(y), |)
BANG_LOGIC(xor, IsTrue(x) != IsTrue(y), ^)
BANG_UNARY(__bang_not, Number, kAlias, !IsTrue(x), kLogic)
BANG_UNARY(__bang_bnot, Byte, kAlias, ~x, kLogic, k2xx, kEverywhere)

BANG_UNKNOWN_FORM(__bang_bnot, FloatOrWide, BANG_BYTES, T*, const T*, unsigned)

#define BANG_SHIFT(name, Types, value)                                      \
  template <Types T>                                                        \
  void name(T* d, const T* a, unsigned shift, unsigned n, BANG_WHERE) {     \
    Require(shift < 8 * sizeof(T), #name, where,                            \
            "shift must be less than the bits of an element");              \
    const auto f = [shift](T x) { return static_cast<T>(value); };          \
    Map({#name, kLogic, kNoRule, kFrom322}, where, d, n, f, In("a", a, n)); \
  }
BANG_SHIFT(__bang_sll, Integer, static_cast<std::make_unsigned_t<T>>(x) << shift)
BANG_SHIFT(__bang_srl, Unsigned, x >> shift)
BANG_SHIFT(__bang_sra, Int, x >> shift)

#define BANG_ARGUMENT(name, better, nan_wins, alias, ...)                                     \
  template <Float T>                                                                          \
  void name(T* d, const T* a, unsigned n, BANG_WHERE) {                                       \
    ArgExtreme({#name, kComparison, __VA_ARGS__}, d, a, n, nan_wins, alias, where, better()); \
  }
BANG_ARGUMENT(__bang_argmax, std::greater<float>, false, kAlias, kNoRule, kFrom322)
BANG_ARGUMENT(__bang_argmin, std::less<float>, false, kAlias, kNoRule, kFrom322)
BANG_ARGUMENT(__bang_nan_argmax, std::greater<float>, true, kAlias, kNoRule, kFrom520)
BANG_ARGUMENT(__bang_nan_argmin, std::less<float>, true, kAlias, kNoRule, kFrom520)
BANG_ARGUMENT(__bang_max, std::greater<float>, false, kNoAlias, k2xx, kEverywhere)  // old names
BANG_ARGUMENT(__bang_min, std::less<float>, false, kNoAlias, k2xx, kEverywhere)

}  // namespace intrinsics
}  // namespace bang
