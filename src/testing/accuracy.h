// SPDX-License-Identifier: Apache-2.0
// The accuracy criteria of MLU-OPS (diff1 to diff4). e = evaluated, b = baseline; 1e-9 is added to
// denominators.
#pragma once

#include <cstdint>
#include <string>

#include "mlu_op.h"

namespace mluop::testing {

struct Differences {
  double diff1 = 0;    // sum |e-b| / sum |b|
  double diff2 = 0;    // sqrt(sum (e-b)^2 / sum b^2)
  double diff3_1 = 0;  // max |e-b| / |b|
  double diff3_2 = 0;  // max |e-b|
  double diff3 =
      0;  // max of the relative error if |b| > 1e-6 (half: 1e-4), of the absolute error otherwise
  int64_t above = 0;  // elements with e > b; diff4 is their fraction of the unequal elements
  int64_t below = 0;
  int64_t nonfinite_mismatch = -1;  // the first element that is NaN or Inf in only one of the two
};

// `evaluated` holds elements of `dtype`, `baseline` doubles.
Differences Compare(const void* evaluated, mluOpDataType_t dtype, const double* baseline,
                    int64_t count);

// Compares bits. Returns the index of the first element that differs, -1 if none does.
int64_t FirstDifference(const void* evaluated, const void* baseline, int64_t count,
                        mluOpDataType_t dtype);

struct Threshold {
  double diff1 = 0;
  double diff2 = 0;
};

// The dynamic threshold: ten times the error of the plain loops, but at least one rounding error.
Threshold ThresholdFrom(const Differences& plain, mluOpDataType_t dtype);

// Returns "" if the differences pass, else an error message. Checks diff4 only if `bias`.
std::string CheckDifferences(const Differences& differences, const Threshold& threshold, bool bias);

std::string Format(const Differences& differences);

}  // namespace mluop::testing
