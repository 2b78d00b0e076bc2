// SPDX-License-Identifier: Apache-2.0
// Code that the implementations named "double" share on the CPU. They are plain loops: one source for
// all instruction sets, one owner per output element, and a fixed order of additions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/thread_pool.h"
#include "cpu/tuning.h"

namespace mluop {

// Returns the value; returns the default quiet NaN for every NaN.
inline double CanonicalNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

inline void CanonicalizeNans(double* values, int64_t count) {
  std::transform(values, values + count, values, CanonicalNan);
}

// Returns a grain for ThreadPool::For if one iteration processes `elements` elements.
inline int64_t GrainFor(int64_t elements) { return kGrain / std::max<int64_t>(elements, 1) + 1; }

}  // namespace mluop
