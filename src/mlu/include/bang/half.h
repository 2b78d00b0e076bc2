// SPDX-License-Identifier: Apache-2.0
// Rounding, and half: IEEE binary16, whose operations round to nearest, ties to even.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace bang {

// Rounding modes of the conversions.
enum class Round { kTz, kOz, kUp, kDn, kRd, kRn };

// Rounds to an integer value.
inline double RoundTo(double x, Round mode) {
  switch (mode) {
    case Round::kTz: return std::trunc(x);
    case Round::kOz: return x < 0 ? std::floor(x) : std::ceil(x);
    case Round::kUp: return std::ceil(x);
    case Round::kDn: return std::floor(x);
    case Round::kRd: return std::round(x);
    case Round::kRn: break;
  }
  const double even = 2 * std::round(x / 2);
  return std::fabs(x - std::trunc(x)) == 0.5 ? even : std::round(x);
}

// Rounds to a floating-point format of `digits` bits. Beyond `largest` the result is infinite where
// the mode rounds away from zero.
inline double RoundToFormat(double x, int digits, int min_exponent, double largest, Round mode) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int unit = std::max(std::ilogb(x), min_exponent) - digits + 1;
  const double rounded = std::ldexp(RoundTo(std::ldexp(x, -unit), mode), unit);
  if (std::fabs(rounded) <= largest) return rounded;
  const bool to_largest = RoundTo(std::copysign(0.75, x), mode) == 0;  // rounds toward zero
  return std::copysign(to_largest ? largest : std::numeric_limits<double>::infinity(), x);
}

// The bits of a value that binary16 can represent, and the value of bits. The factor 2^112 is the
// difference of the exponent biases, 127 - 15; the product also normalises subnormal numbers.
inline uint16_t HalfBits(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(std::fabs(x) * 0x1p-112f) >> 13;
  if (!std::isfinite(x)) bits = std::isnan(x) ? 0x7e00 : 0x7c00;
  return static_cast<uint16_t>(bits | (std::signbit(x) ? 0x8000 : 0));
}
inline float FloatOfBits(uint16_t bits) {
  float magnitude = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00)
    magnitude = (bits & 0x3ff) != 0 ? std::numeric_limits<float>::quiet_NaN()
                                    : std::numeric_limits<float>::infinity();
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
inline uint16_t RoundToHalf(double x, Round mode) {
  return HalfBits(static_cast<float>(RoundToFormat(x, 11, -14, 65504, mode)));
}

}  // namespace bang

struct half {
  uint16_t bits;

  half() = default;
  // Converts implicitly, as the arithmetic type of the device does.
  // NOLINTBEGIN(google-explicit-constructor)
  half(float x) : bits(::bang::RoundToHalf(static_cast<double>(x), ::bang::Round::kRn)) {}
  template <std::integral T>
  half(T value) : half(static_cast<float>(value)) {}
  operator float() const { return ::bang::FloatOfBits(bits); }
  // NOLINTEND(google-explicit-constructor)

  half operator-() const { return half(-static_cast<float>(*this)); }
};
static_assert(sizeof(half) == 2 && std::is_trivial_v<half>);

namespace bang {

// Rounds a double to the target type. Integers saturate, and so does NaN.
template <class To>
To RoundedTo(double x, Round mode) {
  if constexpr (std::is_same_v<To, half>) {
    return std::bit_cast<half>(RoundToHalf(x, mode));
  } else if constexpr (std::is_same_v<To, float>) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    return static_cast<float>(RoundToFormat(x, 24, -126, kLargest, mode));
  } else {
    using Limits = std::numeric_limits<To>;
    const double rounded = RoundTo(x, mode);
    if (!(rounded < static_cast<double>(Limits::max()))) return Limits::max();
    if (rounded < static_cast<double>(Limits::min())) return Limits::min();
    return static_cast<To>(rounded);
  }
}

// The operands of half's operators: two half, or a half and an integer.
template <class A, class B>
concept HalfOperands = (std::same_as<A, half> && (std::same_as<B, half> || std::integral<B>)) ||
                       (std::integral<A> && std::same_as<B, half>);

// The device has no double: a literal such as 1.0 needs the suffix f, or a cast.
template <class A, class B>
concept HalfAndDouble = (std::same_as<A, half> && std::same_as<B, double>) ||
                        (std::same_as<A, double> && std::same_as<B, half>);

}  // namespace bang

#define BANG_HALF_OPERATOR(op)                                               \
  template <class A, class B>                                                \
  requires ::bang::HalfOperands<A, B> half operator op(A a, B b) {           \
    return half(static_cast<float>(half(a)) op static_cast<float>(half(b))); \
  }                                                                          \
  template <class A, class B>                                                \
  requires ::bang::HalfAndDouble<A, B> half operator op(A a, B b) = delete;  \
  inline half& operator op##=(half& a, half b) { return a = a op b; }
#define BANG_HALF_STEP(op, sign)                             \
  inline half& operator op(half& a) { return a = a sign 1; } \
  inline half operator op(half& a, int) { return std::exchange(a, a sign 1); }
BANG_HALF_OPERATOR(+)
BANG_HALF_OPERATOR(-)
BANG_HALF_OPERATOR(*)
BANG_HALF_OPERATOR(/)
BANG_HALF_STEP(++, +)
BANG_HALF_STEP(--, -)
