// SPDX-License-Identifier: Apache-2.0
// Data types: their sizes and names, and conversions between half and float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "mlu_op.h"

namespace mluop {

// Returns the bytes of one element; 0 for INVALID and for values that are not enumerators.
size_t SizeOf(mluOpDataType_t dtype);

// Returns "half", "float", "int32", ...; "invalid" for values that are not enumerators.
const char* NameOf(mluOpDataType_t dtype);

// Returns "NCHW", ...; "unknown" for values that are not enumerators.
const char* NameOf(mluOpTensorLayout_t layout);

// The bits of an IEEE half. Arithmetic is done in float.
struct Half {
  uint16_t bits;
};

// The identity, for templates over float and half.
constexpr float ToFloat(float value) { return value; }

// Converts exactly. A NaN keeps its sign and payload.
constexpr float ToFloat(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  const uint32_t exponent = (half.bits >> 10) & 0x1fu;
  const uint32_t mantissa = half.bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // denormal or zero: exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Rounds to nearest even, as the hardware does. Values that are too large become infinity. A NaN
// becomes a quiet NaN with the upper bits of its payload.
constexpr Half ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN
    return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  }
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // >= 65520
  if (magnitude < 0x38800000u) {                                                 // below 2^-14
    // Adding 0.5 aligns the last bit of the half with that of the float, so the addition rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace mluop
