// SPDX-License-Identifier: Apache-2.0
// Test helpers: vectors of values, random inputs.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "testing/random.h"

namespace mluop::testing {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Floats RandomFloats(size_t count, uint64_t seed) {
  Random random(seed);
  Floats values(count);
  for (float& value : values) value = static_cast<float>(random.Uniform(-1, 1));
  return values;
}

inline double Dot(const Floats& a, const Floats& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline Ints BitsOf(const Floats& values) {
  Ints bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

}  // namespace mluop::testing
