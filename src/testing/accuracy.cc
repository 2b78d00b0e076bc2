// SPDX-License-Identifier: Apache-2.0
#include "testing/accuracy.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/dtype.h"
#include "testing/element.h"

namespace mluop::testing {
namespace {

constexpr double kTiny = 1e-9;
// diff4 is checked if at least kBiasElements elements differ. It must be in [kBiasLow, kBiasHigh].
constexpr int64_t kBiasElements = 100;
constexpr double kBiasLow = 0.25;
constexpr double kBiasHigh = 0.75;

bool SameKind(double e, double b) {
  if (std::isnan(b) || std::isnan(e)) return std::isnan(b) && std::isnan(e);
  if (std::isinf(b) || std::isinf(e)) return e == b;
  return true;
}

}  // namespace

Differences Compare(const void* evaluated, mluOpDataType_t dtype, const double* baseline,
                    int64_t count) {
  Differences d;
  const double threshold = dtype == MLUOP_DTYPE_HALF ? 1e-4 : 1e-6;
  double sum_error = 0, sum_value = 0, sum_error2 = 0, sum_value2 = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double e = LoadValue(evaluated, dtype, i);
    // A finite baseline that overflows the type must be infinity in the result.
    const double b = std::isfinite(baseline[i]) && dtype == MLUOP_DTYPE_HALF &&
                             std::isinf(ToFloat(ToHalf(static_cast<float>(baseline[i]))))
                         ? std::copysign(INFINITY, baseline[i])
                         : baseline[i];
    if (!SameKind(e, b)) {
      if (d.nonfinite_mismatch < 0) d.nonfinite_mismatch = i;
      continue;
    }
    if (!std::isfinite(b)) continue;
    const double error = std::abs(e - b);
    sum_error += error;
    sum_value += std::abs(b);
    sum_error2 += error * error;
    sum_value2 += b * b;
    const double relative = error / (std::abs(b) + kTiny);
    d.diff3_1 = std::max(d.diff3_1, relative);
    d.diff3_2 = std::max(d.diff3_2, error);
    d.diff3 = std::max(d.diff3, std::abs(b) > threshold ? relative : error);
    if (e > b) ++d.above;
    if (e < b) ++d.below;
  }
  d.diff1 = sum_error / (sum_value + kTiny);
  d.diff2 = std::sqrt(sum_error2 / (sum_value2 + kTiny));
  return d;
}

int64_t FirstDifference(const void* evaluated, const void* baseline, int64_t count,
                        mluOpDataType_t dtype) {
  const size_t size = SizeOf(dtype);
  const auto* e = static_cast<const char*>(evaluated);
  const auto* b = static_cast<const char*>(baseline);
  if (count == 0 || std::memcmp(e, b, static_cast<size_t>(count) * size) == 0) return -1;
  int64_t i = 0;
  while (std::memcmp(e + i * static_cast<int64_t>(size), b + i * static_cast<int64_t>(size),
                     size) == 0)
    ++i;
  return i;
}

Threshold ThresholdFrom(const Differences& plain, mluOpDataType_t dtype) {
  const double minimum = dtype == MLUOP_DTYPE_HALF ? 9.8e-4 : 1.2e-7;
  return {std::max(10 * plain.diff1, minimum), std::max(10 * plain.diff2, minimum)};
}

std::string CheckDifferences(const Differences& d, const Threshold& threshold, bool bias) {
  char text[200] = "";
  const int64_t unequal = d.above + d.below;
  const double fraction_above =
      unequal == 0 ? 0.5 : static_cast<double>(d.above) / static_cast<double>(unequal);
  if (d.nonfinite_mismatch >= 0) {
    std::snprintf(text, sizeof(text),
                  "NaN or Inf in only one of the two results at element %" PRId64,
                  d.nonfinite_mismatch);
  } else if (!(d.diff1 <= threshold.diff1)) {
    std::snprintf(text, sizeof(text), "diff1 must be <= %.3g, got %.3g", threshold.diff1, d.diff1);
  } else if (!(d.diff2 <= threshold.diff2)) {
    std::snprintf(text, sizeof(text), "diff2 must be <= %.3g, got %.3g", threshold.diff2, d.diff2);
  } else if (bias && unequal >= kBiasElements &&
             (fraction_above < kBiasLow || fraction_above > kBiasHigh)) {
    std::snprintf(text, sizeof(text),
                  "diff4 must be in [%.2f, %.2f], got %.3f of %" PRId64 " elements above", kBiasLow,
                  kBiasHigh, fraction_above, unequal);
  }
  return text;
}

std::string Format(const Differences& d) {
  const int64_t unequal = d.above + d.below;
  const double all = unequal == 0 ? 1 : static_cast<double>(unequal);
  char text[300];
  std::snprintf(
      text, sizeof(text),
      "diff1=%.3g diff2=%.3g diff3_1=%.3g diff3_2=%.3g diff3=%.3g diff4=%.3f/%.3f of %" PRId64,
      d.diff1, d.diff2, d.diff3_1, d.diff3_2, d.diff3, static_cast<double>(d.above) / all,
      static_cast<double>(d.below) / all, unequal);
  return text;
}

}  // namespace mluop::testing
