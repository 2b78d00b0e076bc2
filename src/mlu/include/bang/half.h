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

// Converts to binary16. Overflow gives infinity where the mode rounds away from zero.
inline uint16_t HalfBits(double x, Round mode) {
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7e00);
  if (std::isinf(x)) return static_cast<uint16_t>(sign | 0x7c00);
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), -14);
  const double rounded = std::fabs(RoundTo(std::ldexp(x, 10 - exponent), mode));
  double value = std::ldexp(rounded, exponent - 10);
  if (value > 65504) {
    const bool to_infinity = mode == Round::kOz || mode == Round::kRn || mode == Round::kRd ||
                             (mode == Round::kUp) == (sign == 0);
    if (mode == Round::kTz || !to_infinity) return static_cast<uint16_t>(sign | 0x7bff);
    return static_cast<uint16_t>(sign | 0x7c00);
  }
  if (value < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<int>(value * 0x1p24));
  const int e = std::ilogb(value);
  const int mantissa = static_cast<int>(std::ldexp(value, 10 - e)) - 1024;
  return static_cast<uint16_t>(sign | ((e + 15) << 10) | mantissa);
}

inline float FloatOfBits(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * static_cast<float>(mantissa) * 0x1p-24f;
  const uint32_t single = static_cast<uint32_t>(bits & 0x8000) << 16 |
                          static_cast<uint32_t>(exponent + 112) << 23 |
                          static_cast<uint32_t>(mantissa) << 13;
  return std::bit_cast<float>(single);
}

}  // namespace bang

struct half {
  uint16_t bits;

  half() = default;
  // Converts implicitly, as the arithmetic type of the device does.
  // NOLINTBEGIN(google-explicit-constructor)
  half(float value) : bits(::bang::HalfBits(static_cast<double>(value), ::bang::Round::kRn)) {}
  template <std::integral T>
  half(T value) : half(static_cast<float>(value)) {}
  operator float() const { return ::bang::FloatOfBits(bits); }
  // NOLINTEND(google-explicit-constructor)

  half operator-() const { return half(-static_cast<float>(*this)); }
  half& operator+=(half b) { return *this = *this + b; }
  half& operator-=(half b) { return *this = *this - b; }
  half& operator*=(half b) { return *this = *this * b; }
  half& operator/=(half b) { return *this = *this / b; }

#define BANG_HALF_OPERATOR(op)                                   \
  friend half operator op(half a, half b) {                      \
    return half(static_cast<float>(a) op static_cast<float>(b)); \
  }                                                              \
  template <std::integral T>                                     \
  friend half operator op(half a, T b) {                         \
    return a op half(b);                                         \
  }                                                              \
  template <std::integral T>                                     \
  friend half operator op(T a, half b) {                         \
    return half(a) op b;                                         \
  }
  BANG_HALF_OPERATOR(+)
  BANG_HALF_OPERATOR(-)
  BANG_HALF_OPERATOR(*)
  BANG_HALF_OPERATOR(/)
#undef BANG_HALF_OPERATOR
};
static_assert(sizeof(half) == 2 && std::is_trivial_v<half>);

namespace bang {

template <class T>
double Exact(T x) {
  if constexpr (std::is_same_v<T, half>)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

// Rounds a double to the target type. Integers saturate, and so does NaN.
template <class To>
To RoundedTo(double x, Round mode) {
  if constexpr (std::is_same_v<To, half>) {
    half result;
    result.bits = HalfBits(x, mode);
    return result;
  } else if constexpr (std::is_same_v<To, float>) {
    const float nearest = static_cast<float>(x);
    const double error = static_cast<double>(nearest) - x;
    if (error == 0 || std::isnan(x) || mode == Round::kRn || mode == Round::kRd) return nearest;
    const bool want_above =
        mode == Round::kUp || (mode == Round::kTz && x < 0) || (mode == Round::kOz && x > 0);
    if ((error > 0) == want_above) return nearest;
    const float limit = std::numeric_limits<float>::infinity();
    return std::nextafter(nearest, want_above ? limit : -limit);
  } else {
    using Limits = std::numeric_limits<To>;
    const double rounded = RoundTo(x, mode);
    if (!(rounded < static_cast<double>(Limits::max()))) return Limits::max();
    if (rounded < static_cast<double>(Limits::min())) return Limits::min();
    return static_cast<To>(rounded);
  }
}

}  // namespace bang
