// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic. Each line of the tables is one intrinsic or one family: name, element types,
// aliases of the result, the value of one element, and the Instruction: kind, rule on sizes,
// architectures.
#pragma once

#include <cmath>
#include <cstring>

#include "bang/instruction.h"

namespace bang {

// Integer results wrap around.
template <class T, class Op>
T Wrapped(T a, T b, const Op& op) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(op(static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
  } else {
    return static_cast<T>(op(a, b));
  }
}
template <class T>
T Add(T a, T b) {
  return Wrapped(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T Sub(T a, T b) {
  return Wrapped(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T Mul(T a, T b) {
  return Wrapped(a, b, [](auto x, auto y) { return x * y; });
}
// The exact sum of two floats does not fit a double in all cases; TwoSum gives its rounding error.
template <Float T>
T AddTowardZero(T a, T b) {
  const double x = Exact(a), y = Exact(b);
  double sum = x + y;
  const double back = sum - x;
  const double error = (x - (sum - back)) + (y - back);
  if (error != 0 && (error > 0) != (sum > 0)) sum = std::nextafter(sum, 0.0);
  return RoundedTo<T>(sum, Round::kTz);
}
// `f` is a function of the host's library for double.
inline float Rounded(double (*f)(double), float x) {
  return static_cast<float>(f(static_cast<double>(x)));
}

inline constexpr Alias kAlias = Alias::kSameAddress;
inline constexpr Alias kNoAlias = Alias::kNone;

}  // namespace bang

// name(d, a, b, n): d[i] = value of x = a[i] and y = b[i].
#define BANG_BINARY(name, Types, alias_b, value, ...)                                        \
  template <::bang::Types T>                                                                 \
  void name(T* d, const T* a, const T* b, unsigned n, BANG_WHERE) {                          \
    using namespace bang;                                                                    \
    Map(                                                                                     \
        {#name, __VA_ARGS__}, where, d, n, [](T x, T y) { return T(value); }, In{"a", a, n}, \
        In{"b", b, n, alias_b});                                                             \
  }
// name(d, a, y, n) with a scalar y.
#define BANG_SCALAR(name, Types, value, ...)                                                 \
  template <::bang::Types T>                                                                 \
  void name(T* d, const T* a, ::bang::Same<T> scalar, unsigned n, BANG_WHERE) {              \
    using namespace bang;                                                                    \
    Map(                                                                                     \
        {#name, __VA_ARGS__}, where, d, n, [](T x, T y) { return T(value); }, In{"a", a, n}, \
        Scalar{scalar});                                                                     \
  }
// name(d, src, seg, src_n, seg_n): y = seg[i % seg_n].
#define BANG_CYCLE(name, Types, value, ...)                                                 \
  template <::bang::Types T>                                                                \
  void name(T* d, const T* src, const T* seg, unsigned src_n, unsigned seg_n, BANG_WHERE) { \
    using namespace bang;                                                                   \
    Map(                                                                                    \
        {#name, __VA_ARGS__}, where, d, src_n, [](T x, T y) { return T(value); },           \
        In{"src", src, src_n}, Repeated{In{"seg", seg, seg_n, kNoAlias}});                  \
  }
// name(d, a, n).
#define BANG_UNARY(name, Types, alias_a, value, ...)                                              \
  template <::bang::Types T>                                                                      \
  void name(T* d, const T* a, unsigned n, BANG_WHERE) {                                           \
    using namespace bang;                                                                         \
    Map(                                                                                          \
        {#name, __VA_ARGS__}, where, d, n, [](T x) { return T(value); }, In{"a", a, n, alias_a}); \
  }

#define BANG_ARITHMETIC(op, Types, value)                       \
  BANG_BINARY(__bang_##op, Types, kAlias, value, kArithmetic)   \
  BANG_SCALAR(__bang_##op##_scalar, Number, value, kArithmetic) \
  BANG_SCALAR(__bang_##op##_const, Float, value, kArithmetic)   \
  BANG_CYCLE(__bang_cycle_##op, Number, value, kArithmetic)
BANG_ARITHMETIC(add, Number, Add(x, y))
BANG_ARITHMETIC(sub, NumberOrByte, Sub(x, y))
BANG_ARITHMETIC(mul, Number, Mul(x, y))
#undef BANG_ARITHMETIC
BANG_BINARY(__bang_add_tz, Float, kAlias, AddTowardZero(x, y), kArithmetic)
BANG_CYCLE(__bang_cycle_add_tz, Float, AddTowardZero(x, y), kArithmetic)
BANG_BINARY(__bang_div, Divisible, kAlias, x / y, kArithmetic, kNoRule, kFrom322Not372)
BANG_SCALAR(__bang_div, Divisible, x / y, kArithmetic, kNoRule, kFrom322Not372)
BANG_BINARY(__bang_rem, WideInteger, kAlias, x % y, kArithmetic, kNoRule, kFrom322Not372)
BANG_SCALAR(__bang_rem, WideInteger, x % y, kArithmetic, kNoRule, kFrom322Not372)

BANG_UNARY(__bang_neg, Int, kAlias, Sub(T(0), x), kArithmetic, kNoRule, kFrom322Not372)
BANG_UNARY(__bang_square, Float, kAlias, Mul(x, x), kArithmetic)
#define BANG_FROM322(op, Types, alias, value) \
  BANG_UNARY(__bang_##op, Types, alias, value, kArithmetic, kNoRule, kFrom322)
BANG_FROM322(abs, Number, kAlias, x < T(0) ? Sub(T(0), x) : (x == T(0) ? T(0) : x))
BANG_FROM322(sqrt, Single, kAlias, std::sqrt(x))
BANG_FROM322(rsqrt, Single, kAlias, 1 / std::sqrt(double(x)))
BANG_FROM322(recip, Single, kAlias, 1 / x)
BANG_FROM322(pow2, Single, kAlias, Rounded(std::exp2, x))
BANG_FROM322(log, Single, kAlias, Rounded(std::log2, x))
BANG_FROM322(log2, Single, kAlias, Rounded(std::log2, x))
BANG_FROM322(sin, Single, kAlias, Rounded(std::sin, x))
BANG_FROM322(cos, Single, kAlias, Rounded(std::cos, x))
BANG_FROM322(floor, Single, kNoAlias, std::floor(x))
BANG_FROM322(round, Single, kNoAlias, std::round(x))
BANG_FROM322(nearbyint, Single, kNoAlias, RoundTo(double(x), Round::kRn))
#undef BANG_FROM322

// The square of integers has the next wider type.
#define BANG_WIDENING_SQUARE(To, From)                                                     \
  inline void __bang_square(To* d, const From* a, unsigned n, BANG_WHERE) {                \
    using namespace bang;                                                                  \
    Map(                                                                                   \
        {"__bang_square", kArithmetic}, where, d, n, [](From x) { return To(To(x) * x); }, \
        In{"a", a, n});                                                                    \
  }
BANG_WIDENING_SQUARE(short, char)
BANG_WIDENING_SQUARE(short, signed char)
BANG_WIDENING_SQUARE(int, short)
#undef BANG_WIDENING_SQUARE

// The old form with a scratch vector.
template <::bang::Float T>
void __bang_div(T* d, const T* a, const T* b, T* tmp, unsigned n, BANG_WHERE) {
  using namespace bang;
  const Issued issued =
      Issue({"__bang_div", kArithmetic, kSize128}, Flow::kElements, n,
            {Out(d, n), In{"a", a, n, kNoAlias}, In{"b", b, n, kNoAlias}, Out(tmp, n)}, where);
  if (!issued) return;
  for (unsigned i = 0; i < n; ++i) {
    const T quotient = a[i] / b[i];
    d[i] = Is2xx() ? Saturated(quotient, a[i], b[i]) : quotient;
  }
}

template <::bang::Float T>
T __bang_sum(const T* a, unsigned n, BANG_WHERE) {
  using namespace bang;
  double sum = 0;
  const Issued issued = Issue({"__bang_sum", kArithmetic, kNoRule, kFrom520}, Flow::kScalar, n,
                              {In{"a", a, n}}, where);
  for (unsigned i = 0; issued && i < n; ++i) sum += Exact(a[i]);
  return T(static_cast<float>(sum));
}

// The sum of every 128 bytes goes to their first element. The other elements: zero on 2xx,
// unchanged from 3xx on.
template <::bang::Float T>
void __bang_reduce_sum(T* d, const T* a, unsigned n, BANG_WHERE) {
  using namespace bang;
  const Issued issued = Issue({"__bang_reduce_sum", kArithmetic, kSize128}, Flow::kCustom, n,
                              {Out(d, n), In{"a", a, n}}, where);
  if (!issued) return;
  constexpr unsigned kLanes = 128 / sizeof(T);
  for (unsigned i = 0; i < n; i += kLanes) {
    double sum = 0;
    uint8_t state = 1;
    for (unsigned k = i; k < i + kLanes; ++k) {
      sum += Exact(a[k]);
      state &= *StateOf(a + k);
    }
    if (Is2xx()) {
      std::memset(static_cast<void*>(d + i), 0, 128);
      std::memset(StateOf(d + i), 1, 128);
    }
    d[i] = Is2xx() ? Saturated(T(static_cast<float>(sum))) : T(static_cast<float>(sum));
    std::memset(StateOf(d + i), state, sizeof(T));
  }
}

// clang-format off
typedef enum {
  FUSION_FMA, FUSION_FMS, FUSION_FAM, FUSION_FSM, FUSION_FAA, FUSION_FAS, FUSION_FSS, FUSION_FSA
} mluFusionOpCode;
// clang-format on

namespace bang {

// The middle result is rounded.
template <class T>
T Fuse(mluFusionOpCode op, T a, T b, T c) {
  switch (op) {
    case FUSION_FMA: return Add(Mul(a, b), c);
    case FUSION_FMS: return Sub(Mul(a, b), c);
    case FUSION_FAM: return Mul(Add(a, b), c);
    case FUSION_FSM: return Mul(Sub(a, b), c);
    case FUSION_FAA: return Add(Add(a, b), c);
    case FUSION_FAS: return Sub(Add(a, b), c);
    case FUSION_FSS: return Sub(Sub(a, b), c);
    case FUSION_FSA: break;
  }
  return Add(Sub(a, b), c);
}

}  // namespace bang

// name(op, d, a, b, c, counts): b and c are vectors of seg_n elements that repeat, or scalars.
#define BANG_FUSION(B, b_source, C, c_source, ...)                                                 \
  template <::bang::Float T>                                                                       \
  void __bang_fusion(mluFusionOpCode op, T* d, const T* a, B b, C c, __VA_ARGS__, BANG_WHERE) {    \
    using namespace bang;                                                                          \
    Map(                                                                                           \
        {"__bang_fusion", kArithmetic, kNoRule, kFrom322}, where, d, src_n,                        \
        [op](T x, T y, T z) { return Fuse(op, x, y, z); }, In{"a", a, src_n}, b_source, c_source); \
  }
#define BANG_SEGMENT(name)              \
  Repeated {                            \
    In { #name, name, seg_n, kNoAlias } \
  }
BANG_FUSION(const T*, BANG_SEGMENT(b), const T*, BANG_SEGMENT(c), unsigned src_n, unsigned seg_n)
BANG_FUSION(::bang::Same<T>, Scalar{b}, const T*, BANG_SEGMENT(c), unsigned src_n, unsigned seg_n)
BANG_FUSION(const T*, BANG_SEGMENT(b), ::bang::Same<T>, Scalar{c}, unsigned src_n, unsigned seg_n)
BANG_FUSION(::bang::Same<T>, Scalar{b}, ::bang::Same<T>, Scalar{c}, unsigned src_n)
#undef BANG_SEGMENT
#undef BANG_FUSION
