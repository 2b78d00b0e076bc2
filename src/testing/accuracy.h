// SPDX-License-Identifier: Apache-2.0
// The accuracy criteria of the documents. e = evaluated, b = baseline; denominators get 1e-9 added.
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
  double diff3 = 0;    // max of the relative one where |b| > th, of the absolute one elsewhere
  int64_t above = 0;   // unequal elements with e > b: diff4 is their share, and that of e < b
  int64_t below = 0;
  int64_t misplaced = -1;  // the first element where a NaN or Inf stands in one of the two only
};

// `evaluated` holds elements of `dtype`, `baseline` doubles.
Differences Compare(const void* evaluated, mluOpDataType_t dtype, const double* baseline,
                    int64_t count);

// Bit for bit: the index of the first element that differs, -1 if none does.
int64_t FirstDifference(const void* evaluated, const void* baseline, int64_t count,
                        mluOpDataType_t dtype);

struct Threshold {
  double diff1 = 0;
  double diff2 = 0;
};

// The dynamic threshold: ten times the plain loops' error, at least one rounding of the type.
Threshold ThresholdFrom(const Differences& plain, mluOpDataType_t dtype);

// "" if the differences pass, else a sentence that says which does not. diff4 is looked at with
// `bias`.
std::string Judge(const Differences& differences, const Threshold& threshold, bool bias);

std::string Format(const Differences& differences);

}  // namespace mluop::testing
