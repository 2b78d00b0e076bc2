// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic. Each line of the tables is one intrinsic: name, element types, where the
// result may lie, rule on sizes, architectures, and the value of one element.
#pragma once

#include <cmath>

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
  const double x = static_cast<double>(static_cast<float>(a));
  const double y = static_cast<double>(static_cast<float>(b));
  double sum = x + y;
  const double back = sum - x;
  const double error = (x - (sum - back)) + (y - back);
  if (error != 0 && (error > 0) != (sum > 0)) sum = std::nextafter(sum, 0.0);
  if constexpr (std::is_same_v<T, half>) {
    half result;
    result.bits = HalfBits(sum, Round::kTz);
    return result;
  } else {
    const float rounded = static_cast<float>(sum);
    const bool away = std::fabs(static_cast<double>(rounded)) > std::fabs(sum);
    return away ? std::nextafter(rounded, 0.0f) : rounded;
  }
}

inline constexpr bool kAnySource = true;

}  // namespace bang

// d = f(a, b); `second`: whether d may also be b.
#define BANG_BINARY(name, Types, kind, second, rule, gate, value)                              \
  template <Types T>                                                                           \
  void name(T* d, const T* a, const T* b, unsigned n, ::bang::Where where = ::bang::Where()) { \
    using namespace bang;                                                                      \
    static constexpr Instruction kInstruction = {#name, Kind::kind, Rule::rule, gate};         \
    const Issued issued = Issue(kInstruction, Flow::kElements, n,                              \
                                {Out(d, n), In("a", a, n), In("b", b, n, second)}, where);     \
    if (!issued) return;                                                                       \
    for (unsigned i = 0; i < n; ++i) {                                                         \
      const T x = a[i], y = b[i];                                                              \
      d[i] = value;                                                                            \
    }                                                                                          \
  }
// d = f(a, y) with a scalar y.
#define BANG_SCALAR(name, Types, kind, rule, gate, value)                              \
  template <Types T>                                                                   \
  void name(T* d, const T* a, ::bang::Same<T> y, unsigned n,                           \
            ::bang::Where where = ::bang::Where()) {                                   \
    using namespace bang;                                                              \
    static constexpr Instruction kInstruction = {#name, Kind::kind, Rule::rule, gate}; \
    const Issued issued =                                                              \
        Issue(kInstruction, Flow::kElements, n, {Out(d, n), In("a", a, n)}, where);    \
    if (!issued) return;                                                               \
    for (unsigned i = 0; i < n; ++i) {                                                 \
      const T x = a[i];                                                                \
      d[i] = value;                                                                    \
    }                                                                                  \
  }
// d[i] = f(src[i], seg[i % seg_n]).
#define BANG_CYCLE(name, Types, kind, value)                                                   \
  template <Types T>                                                                           \
  void name(T* d, const T* src, const T* seg, unsigned src_n, unsigned seg_n,                  \
            ::bang::Where where = ::bang::Where()) {                                           \
    using namespace bang;                                                                      \
    static constexpr Instruction kInstruction = {#name, Kind::kind};                           \
    const Issued issued =                                                                      \
        Issue(kInstruction, Flow::kElements, src_n,                                            \
              {Out(d, src_n), In("src", src, src_n), In("seg", seg, seg_n, kNoAlias)}, where); \
    if (!issued) return;                                                                       \
    for (unsigned i = 0; i < src_n; ++i) {                                                     \
      const T x = src[i], y = seg[i % seg_n];                                                  \
      d[i] = value;                                                                            \
    }                                                                                          \
  }
// d = f(a); `alias`: whether d may be a.
#define BANG_UNARY(name, Types, kind, alias, rule, gate, value)                            \
  template <Types T>                                                                       \
  void name(T* d, const T* a, unsigned n, ::bang::Where where = ::bang::Where()) {         \
    using namespace bang;                                                                  \
    static constexpr Instruction kInstruction = {#name, Kind::kind, Rule::rule, gate};     \
    const Issued issued =                                                                  \
        Issue(kInstruction, Flow::kElements, n, {Out(d, n), In("a", a, n, alias)}, where); \
    if (!issued) return;                                                                   \
    for (unsigned i = 0; i < n; ++i) {                                                     \
      const T x = a[i];                                                                    \
      d[i] = value;                                                                        \
    }                                                                                      \
  }

BANG_BINARY(__bang_add, ::bang::Number, kArithmetic, kAnySource, k2xx, kEverywhere, Add(x, y))
BANG_BINARY(__bang_sub, ::bang::AnyNumber, kArithmetic, kAnySource, k2xx, kEverywhere, Sub(x, y))
BANG_BINARY(__bang_mul, ::bang::Number, kArithmetic, kAnySource, k2xx, kEverywhere, Mul(x, y))
BANG_BINARY(__bang_div, ::bang::AnyNumber, kArithmetic, kAnySource, kNone, kFrom322Not372, T(x / y))
BANG_BINARY(__bang_rem, ::std::integral, kArithmetic, kAnySource, kNone, kFrom322Not372, T(x % y))
BANG_BINARY(__bang_add_tz, ::bang::Float, kArithmetic, kAnySource, k2xx, kEverywhere,
            AddTowardZero(x, y))

BANG_SCALAR(__bang_add_scalar, ::bang::Number, kArithmetic, k2xx, kEverywhere, Add(x, y))
BANG_SCALAR(__bang_sub_scalar, ::bang::Number, kArithmetic, k2xx, kEverywhere, Sub(x, y))
BANG_SCALAR(__bang_mul_scalar, ::bang::Number, kArithmetic, k2xx, kEverywhere, Mul(x, y))
BANG_SCALAR(__bang_add_const, ::bang::Float, kArithmetic, k2xx, kEverywhere, Add(x, y))
BANG_SCALAR(__bang_sub_const, ::bang::Float, kArithmetic, k2xx, kEverywhere, Sub(x, y))
BANG_SCALAR(__bang_mul_const, ::bang::Float, kArithmetic, k2xx, kEverywhere, Mul(x, y))
BANG_SCALAR(__bang_div, ::bang::AnyNumber, kArithmetic, kNone, kFrom322Not372, T(x / y))
BANG_SCALAR(__bang_rem, ::std::integral, kArithmetic, kNone, kFrom322Not372, T(x % y))

BANG_CYCLE(__bang_cycle_add, ::bang::Number, kArithmetic, Add(x, y))
BANG_CYCLE(__bang_cycle_sub, ::bang::Number, kArithmetic, Sub(x, y))
BANG_CYCLE(__bang_cycle_mul, ::bang::Number, kArithmetic, Mul(x, y))
BANG_CYCLE(__bang_cycle_add_tz, ::bang::Float, kArithmetic, AddTowardZero(x, y))

BANG_UNARY(__bang_abs, ::bang::Number, kArithmetic, true, kNone, kFrom322,
           x < T(0) ? Sub(T(0), x) : (x == T(0) ? T(0) : x))
BANG_UNARY(__bang_neg, ::bang::Int, kArithmetic, true, kNone, kFrom322Not372, Sub(T(0), x))
BANG_UNARY(__bang_square, ::bang::Float, kArithmetic, true, k2xx, kEverywhere, Mul(x, x))
BANG_UNARY(__bang_sqrt, ::bang::Single, kArithmetic, true, kNone, kFrom322, std::sqrt(x))
BANG_UNARY(__bang_rsqrt, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(1 / std::sqrt(double(x))))
BANG_UNARY(__bang_recip, ::bang::Single, kArithmetic, true, kNone, kFrom322, 1 / x)
BANG_UNARY(__bang_pow2, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(std::exp2(double(x))))
BANG_UNARY(__bang_log, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(std::log2(double(x))))
BANG_UNARY(__bang_log2, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(std::log2(double(x))))
BANG_UNARY(__bang_sin, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(std::sin(double(x))))
BANG_UNARY(__bang_cos, ::bang::Single, kArithmetic, true, kNone, kFrom322,
           float(std::cos(double(x))))
BANG_UNARY(__bang_floor, ::bang::Single, kArithmetic, kNoAlias, kNone, kFrom322, std::floor(x))
BANG_UNARY(__bang_round, ::bang::Single, kArithmetic, kNoAlias, kNone, kFrom322, std::round(x))
BANG_UNARY(__bang_nearbyint, ::bang::Single, kArithmetic, kNoAlias, kNone, kFrom322,
           float(RoundTo(double(x), Round::kRn)))

// The old form with a scratch vector.
template <::bang::Float T>
void __bang_div(T* d, const T* a, const T* b, T* tmp, unsigned n,
                ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_div", Kind::kArithmetic, Rule::kAll128};
  const Issued issued =
      Issue(kInstruction, Flow::kElements, n,
            {Out(d, n), In("a", a, n, kNoAlias), In("b", b, n, kNoAlias), Out(tmp, n)}, where);
  if (!issued) return;
  for (unsigned i = 0; i < n; ++i) d[i] = a[i] / b[i];
}

template <::bang::Float T>
T __bang_sum(const T* a, unsigned n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_sum", Kind::kArithmetic, Rule::kNone,
                                               kFrom520};
  double sum = 0;
  const Issued issued = Issue(kInstruction, Flow::kScalar, n, {In("a", a, n)}, where);
  if (issued) {
    for (unsigned i = 0; i < n; ++i) sum += static_cast<double>(static_cast<float>(a[i]));
  }
  return T(static_cast<float>(sum));
}

// The sum of every 128 bytes goes to their first element. The other elements: zero on 2xx,
// unchanged from 3xx on.
template <::bang::Float T>
void __bang_reduce_sum(T* d, const T* a, unsigned n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  static constexpr Instruction kInstruction = {"__bang_reduce_sum", Kind::kArithmetic,
                                               Rule::kAll128};
  const Issued issued = Issue(kInstruction, Flow::kCustom, n, {Out(d, n), In("a", a, n)}, where);
  if (!issued) return;
  constexpr unsigned kLanes = 128 / sizeof(T);
  for (unsigned i = 0; i < n; i += kLanes) {
    double sum = 0;
    uint8_t state = 1;
    for (unsigned k = i; k < i + kLanes; ++k) {
      sum += static_cast<double>(static_cast<float>(a[k]));
      state &= *StateOf(a + k);
    }
    if (Is2xx()) {
      for (unsigned k = i; k < i + kLanes; ++k) d[k] = T(0);
      for (size_t k = 0; k < 128; ++k) StateOf(d + i)[k] = 1;
    }
    d[i] = T(static_cast<float>(sum));
    for (size_t k = 0; k < sizeof(T); ++k) StateOf(d + i)[k] = state;
  }
}

typedef enum {
  FUSION_FMA,
  FUSION_FMS,
  FUSION_FAM,
  FUSION_FSM,
  FUSION_FAA,
  FUSION_FAS,
  FUSION_FSS,
  FUSION_FSA
} mluFusionOpCode;

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

inline constexpr Instruction kFusion = {"__bang_fusion", Kind::kArithmetic, Rule::kNone, kFrom322};

}  // namespace bang

template <::bang::Float T>
void __bang_fusion(mluFusionOpCode op, T* d, const T* a, const T* b, const T* c, unsigned src_n,
                   unsigned seg_n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  const Issued issued = Issue(
      kFusion, Flow::kElements, src_n,
      {Out(d, src_n), In("a", a, src_n), In("b", b, seg_n, kNoAlias), In("c", c, seg_n, kNoAlias)},
      where);
  if (!issued) return;
  for (unsigned i = 0; i < src_n; ++i) d[i] = Fuse(op, a[i], b[i % seg_n], c[i % seg_n]);
}
template <::bang::Float T>
void __bang_fusion(mluFusionOpCode op, T* d, const T* a, ::bang::Same<T> b, const T* c,
                   unsigned src_n, unsigned seg_n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  const Issued issued =
      Issue(kFusion, Flow::kElements, src_n,
            {Out(d, src_n), In("a", a, src_n), In("c", c, seg_n, kNoAlias)}, where);
  if (!issued) return;
  for (unsigned i = 0; i < src_n; ++i) d[i] = Fuse(op, a[i], b, c[i % seg_n]);
}
template <::bang::Float T>
void __bang_fusion(mluFusionOpCode op, T* d, const T* a, const T* b, ::bang::Same<T> c,
                   unsigned src_n, unsigned seg_n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  const Issued issued =
      Issue(kFusion, Flow::kElements, src_n,
            {Out(d, src_n), In("a", a, src_n), In("b", b, seg_n, kNoAlias)}, where);
  if (!issued) return;
  for (unsigned i = 0; i < src_n; ++i) d[i] = Fuse(op, a[i], b[i % seg_n], c);
}
template <::bang::Float T>
void __bang_fusion(mluFusionOpCode op, T* d, const T* a, ::bang::Same<T> b, ::bang::Same<T> c,
                   unsigned src_n, ::bang::Where where = ::bang::Where()) {
  using namespace bang;
  const Issued issued =
      Issue(kFusion, Flow::kElements, src_n, {Out(d, src_n), In("a", a, src_n)}, where);
  if (!issued) return;
  for (unsigned i = 0; i < src_n; ++i) d[i] = Fuse(op, a[i], b, c);
}
