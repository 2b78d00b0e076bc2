// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic. Each line of the tables is one intrinsic or one family. It has name, element
// types, aliases of the result, the value of one element, and the Instruction: kind, rule on sizes,
// architectures.
#pragma once

#include <cmath>

#include "bang/instruction.h"

// clang-format off
typedef enum {
  FUSION_FMA, FUSION_FMS, FUSION_FAM, FUSION_FSM, FUSION_FAA, FUSION_FAS, FUSION_FSS, FUSION_FSA
} mluFusionOpCode;
// clang-format on

namespace bang {

// Integers are computed with 64 bits; the conversion of the result wraps around.
template <class T>
std::conditional_t<std::is_integral_v<T>, int64_t, T> Wide(T x) {
  return x;
}
template <class T>
auto Divisor(T x, const char* name, Where where) {
  Require(x != T(0), name, where, "b must not be 0");
  return Wide(x);
}
// The exact sum of two floats does not fit a double in all cases; TwoSum gives its rounding error.
template <Float T>
T AddTowardZero(T a, T b) {
  const double x = double(a), y = double(b);
  double sum = x + y;
  const double back = sum - x;
  const double error = (x - (sum - back)) + (y - back);
  const bool is_finite = std::isfinite(sum);
  if (is_finite && error != 0 && (error > 0) != (sum > 0)) sum = std::nextafter(sum, 0.0);
  return RoundedTo<T>(sum, Round::kTz);
}
template <class T>
T Fuse(mluFusionOpCode op, T a, T b, T c) {
  switch (op) {
    case FUSION_FMA: return a * b + c;
    case FUSION_FMS: return a * b - c;
    case FUSION_FAM: return (a + b) * c;
    case FUSION_FSM: return (a - b) * c;
    case FUSION_FAA: return a + b + c;
    case FUSION_FAS: return a + b - c;
    case FUSION_FSS: return a - b - c;
    case FUSION_FSA: break;
  }
  return a - b + c;
}
// Whether the middle result is rounded is not known: MLUOP_MLU_FUSION decides.
template <class T>
T FuseAndRound(mluFusionOpCode op, T a, T b, T c) {
  if (!GetChoices().keeps_middle_result) return Fuse(op, a, b, c);
  return RoundedTo<T>(Fuse(op, double(a), double(b), double(c)), Round::kRn);
}

namespace intrinsics {

// name(d, a, b, n): d[i] = value of x = a[i] and y = b[i].
#define BANG_BINARY(name, Types, alias_b, value, ...)                                 \
  template <Types T>                                                                  \
  void name(T* d, const T* a, const T* b, unsigned n, BANG_WHERE) {                   \
    const auto f = [&](T x, T y) { return T(value); };                                \
    Map({#name, __VA_ARGS__}, where, d, n, f, In("a", a, n), In("b", b, n, alias_b)); \
  }
// name(d, a, y, n) with a scalar y.
#define BANG_SCALAR(name, Types, value, ...)                                  \
  template <Types T>                                                          \
  void name(T* d, const T* a, Same<T> scalar, unsigned n, BANG_WHERE) {       \
    const auto f = [&](T x, T y) { return T(value); };                        \
    Map({#name, __VA_ARGS__}, where, d, n, f, In("a", a, n), Scalar(scalar)); \
  }
// name(d, src, seg, src_n, seg_n): y = seg[i % seg_n].
#define BANG_CYCLE(name, Types, value, ...)                                                 \
  template <Types T>                                                                        \
  void name(T* d, const T* src, const T* seg, unsigned src_n, unsigned seg_n, BANG_WHERE) { \
    const auto f = [&](T x, T y) { return T(value); };                                      \
    Map({#name, __VA_ARGS__}, where, d, src_n, f, In("src", src, src_n),                    \
        In("seg", seg, seg_n, kRepeats));                                                   \
  }
// name(d, a, n).
#define BANG_UNARY(name, Types, alias_a, value, ...)                   \
  template <Types T>                                                   \
  void name(T* d, const T* a, unsigned n, BANG_WHERE) {                \
    const auto f = [](T x) { return T(value); };                       \
    Map({#name, __VA_ARGS__}, where, d, n, f, In("a", a, n, alias_a)); \
  }

#define BANG_ARITHMETIC(op, Types, value)                       \
  BANG_BINARY(__bang_##op, Types, kAlias, value, kArithmetic)   \
  BANG_SCALAR(__bang_##op##_scalar, Number, value, kArithmetic) \
  BANG_SCALAR(__bang_##op##_const, Float, value, kArithmetic)   \
  BANG_CYCLE(__bang_cycle_##op, Number, value, kArithmetic)
BANG_ARITHMETIC(add, Number, Wide(x) + Wide(y))
BANG_ARITHMETIC(sub, NumberOrByte, Wide(x) - Wide(y))
BANG_ARITHMETIC(mul, Number, Wide(x) * Wide(y))
BANG_BINARY(__bang_add_tz, Float, kAlias, AddTowardZero(x, y), kArithmetic)
BANG_CYCLE(__bang_cycle_add_tz, Float, AddTowardZero(x, y), kArithmetic)
#define BANG_DIVISION(name, Types, op)                                                        \
  BANG_BINARY(name, Types, kAlias, Wide(x) op Divisor(y, #name, where), kArithmetic, kNoRule, \
              kFrom322Not372)                                                                 \
  BANG_SCALAR(name, Types, Wide(x) op Divisor(y, #name, where), kArithmetic, kNoRule,         \
              kFrom322Not372)
BANG_DIVISION(__bang_div, FloatOrWide, /)
BANG_DIVISION(__bang_rem, WideInteger, %)

BANG_UNARY(__bang_neg, Int, kAlias, -Wide(x), kArithmetic, kNoRule, kFrom322Not372)
BANG_UNARY(__bang_square, Float, kAlias, x* x, kArithmetic)
// Computed by the functions of the host for double, then rounded.
#define BANG_FROM322(op, Types, alias, value) \
  BANG_UNARY(__bang_##op, Types, alias, value, kArithmetic, kNoRule, kFrom322)
BANG_FROM322(abs, Number, kAlias, x < T(0) ? T(-Wide(x)) : (x == T(0) ? T(0) : x))
BANG_FROM322(sqrt, Single, kAlias, std::sqrt(x))
BANG_FROM322(rsqrt, Single, kAlias, 1 / std::sqrt(double(x)))
BANG_FROM322(recip, Single, kAlias, 1 / x)
BANG_FROM322(pow2, Single, kAlias, std::exp2(double(x)))
BANG_FROM322(log, Single, kAlias, std::log2(double(x)))
BANG_FROM322(log2, Single, kAlias, std::log2(double(x)))
BANG_FROM322(sin, Single, kAlias, std::sin(double(x)))
BANG_FROM322(cos, Single, kAlias, std::cos(double(x)))
BANG_FROM322(floor, Single, kNoAlias, std::floor(x))
BANG_FROM322(round, Single, kNoAlias, std::round(x))
BANG_FROM322(nearbyint, Single, kNoAlias, RoundTo(double(x), Round::kRn))

// Table-driven approximations of unknown accuracy on the card; exact or rounded once here.
#define BANG_ACTIVE(name, value) BANG_UNARY(__bang_active_##name, Float, kAlias, value, kArithmetic)
BANG_ACTIVE(abs, std::fabs(double(x)))
BANG_ACTIVE(sign, x >= T(0) ? 1 : -1)
BANG_ACTIVE(exphp, std::exp(double(x)))
BANG_ACTIVE(reciphp, 1 / double(x))
BANG_ACTIVE(sqrthp, std::sqrt(double(x)))

// The square of integers has the next wider type.
#define BANG_WIDENING_SQUARE(To, From)                                      \
  inline void __bang_square(To* d, const From* a, unsigned n, BANG_WHERE) { \
    const auto f = [](From x) { return To(To(x) * x); };                    \
    Map({"__bang_square", kArithmetic}, where, d, n, f, In("a", a, n));     \
  }
BANG_WIDENING_SQUARE(short, char)
BANG_WIDENING_SQUARE(short, signed char)
BANG_WIDENING_SQUARE(int, short)

// The old form with a scratch vector.
template <Float T>
void __bang_div(T* d, const T* a, const T* b, T* tmp, unsigned n, BANG_WHERE) {
  const Instruction instruction = {"__bang_div", kArithmetic, kSize128};
  Compute(instruction, where, n,
          {Out("dst", d, n), In("a", a, n, kNoAlias), In("b", b, n, kNoAlias), Out("tmp", tmp, n)},
          d, n, [&](size_t i, Reader& read) {
            return T(read(a + i) / Divisor(read(b + i), instruction.name, where));
          });
}

template <Float T>
T __bang_sum(const T* a, unsigned n, BANG_WHERE) {
  double sum = 0;
  const Issued issued =
      Issue({"__bang_sum", kArithmetic, kNoRule, kFrom520}, n, {In("a", a, n, kDecides)}, where);
  for (unsigned i = 0; issued && i < n; ++i) sum += double(a[i]);
  return T(static_cast<float>(sum));
}

// The sum of every 128 bytes goes to their first element. The other elements: zero on 2xx,
// unchanged from 3xx on.
template <Float T>
void __bang_reduce_sum(T* d, const T* a, unsigned n, BANG_WHERE) {
  constexpr unsigned kLanes = 128 / sizeof(T);
  const auto sum_of_lanes = [a](size_t i, Reader& read) {
    double sum = 0;
    for (unsigned k = 0; k < kLanes; ++k) sum += double(read(a + i * kLanes + k));
    return T(static_cast<float>(sum));
  };
  const Issued issued =
      Compute({"__bang_reduce_sum", kArithmetic, kSize128}, where, n,
              {Out("dst", d, n), In("a", a, n)}, d, n / kLanes, sum_of_lanes, kLanes);
  for (unsigned i = 0; issued.is_2xx && i < n; ++i)
    if (i % kLanes != 0) issued.Put(d + i, T(0), true);
}

// name(op, d, a, b, c, counts): b and c are vectors of seg_n elements that repeat, or scalars.
#define BANG_FUSION(B, b_source, C, c_source, ...)                                                \
  template <Float T>                                                                              \
  void __bang_fusion(mluFusionOpCode op, T* d, const T* a, B b, C c, __VA_ARGS__, BANG_WHERE) {   \
    const auto f = [op](T x, T y, T z) { return FuseAndRound(op, x, y, z); };                     \
    Map({"__bang_fusion", kArithmetic, kNoRule, kFrom322}, where, d, src_n, f, In("a", a, src_n), \
        b_source, c_source);                                                                      \
  }
#define BANG_REPEATED(name) In(#name, name, seg_n, kRepeats)
BANG_FUSION(const T*, BANG_REPEATED(b), const T*, BANG_REPEATED(c), unsigned src_n, unsigned seg_n)
BANG_FUSION(Same<T>, Scalar(b), const T*, BANG_REPEATED(c), unsigned src_n, unsigned seg_n)
BANG_FUSION(const T*, BANG_REPEATED(b), Same<T>, Scalar(c), unsigned src_n, unsigned seg_n)
BANG_FUSION(Same<T>, Scalar(b), Same<T>, Scalar(c), unsigned src_n)

}  // namespace intrinsics
}  // namespace bang
