// SPDX-License-Identifier: Apache-2.0
// The half type: conversions only.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"

// Rounds to odd: a second rounding, to half, then gives the same as one rounding.
inline float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !__builtin_isfinite(nearest)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool is_larger = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(value);
  if (is_larger) --bits;  // truncated
  return std::bit_cast<float>(bits | 1);
}

struct __half {
  uint16_t bits;

  __half() = default;
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  __half(Number value) {  // NOLINT: implicit, as in CUDA
    if constexpr (std::is_same_v<Number, double>) {
      bits = mluop::ToHalf(RoundToOdd(value)).bits;
    } else {
      bits = mluop::ToHalf(static_cast<float>(value)).bits;
    }
  }
  operator float() const { return mluop::ToFloat(mluop::Half{bits}); }  // NOLINT: as in CUDA
};
using half = __half;

inline __half __float2half_rn(float value) { return value; }
inline __half __double2half(double value) { return value; }
