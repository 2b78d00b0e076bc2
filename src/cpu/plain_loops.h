// SPDX-License-Identifier: Apache-2.0
// Code that plain loops share on the CPU: fallbacks, and the implementations named "double". They
// have one source for all instruction sets, one owner per output element, and a fixed order of
// additions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/tuning.h"

namespace mluop {

// Returns the value; returns the default quiet NaN for every NaN.
template <typename Real>
Real CanonicalNan(Real value) {
  return std::isnan(value) ? std::numeric_limits<Real>::quiet_NaN() : value;
}

template <typename Real>
void CanonicalizeNans(Real* values, int64_t count) {
  std::transform(values, values + count, values, CanonicalNan<Real>);
}

// Returns a grain for ThreadPool::For if one iteration processes `elements` elements.
inline int64_t GrainFor(int64_t elements) { return kGrain / std::max<int64_t>(elements, 1) + 1; }

}  // namespace mluop
