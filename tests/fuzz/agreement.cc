// SPDX-License-Identifier: Apache-2.0
// Compares outputs with the reference (agreement.h).
#include "tests/fuzz/agreement.h"

#include <cfloat>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "testing/accuracy.h"
#include "testing/element.h"
#include "tests/fuzz/block.h"

namespace mluop::fuzz {
namespace {

using testing::Criterion;
using testing::OutputRule;

// A sum of n terms has at most n roundings; a mean or a weighted sum has a few more.
constexpr double kMaxRoundings = 64;

// The argmax of a maximum of samples may name any of the samples that are equal up to rounding.
constexpr std::string_view kNearTies = "argmax_idx";

// A sum of numbers above this limit may overflow float and be finite in double, so it is not compared.
constexpr double kMayOverflow = FLT_MAX / (1 << 16);

// The product of two coordinates below this limit may be 0 in float but not in double. As a weight of an infinite value
// it gives NaN in float only.
constexpr double kMayUnderflow = 0x1p-63;

// Separate memory for the outputs of a call; in double if `as_double` is set and the reference
// writes double.
struct Outputs {
  Outputs(const testing::OperatorTest& test, const Arguments& of, bool as_double) : arguments(of) {
    for (const OutputRule& rule : test.outputs) {
      TensorArgument& tensor = arguments.tensors[of.spec->TensorIndex(rule.tensor)];
      if (tensor.desc == nullptr) continue;
      const bool own_type =
          !as_double || rule.criterion == Criterion::kExact || rule.criterion == Criterion::kFamily;
      const auto count = static_cast<size_t>(tensor.desc->ElementCount());
      blocks.emplace_back(own_type ? tensor.ByteCount() : count * sizeof(double));
      tensor.data = blocks.back().data();
    }
  }
  const double* Doubles(std::string_view tensor) const {
    return static_cast<const double*>(arguments.Tensor(tensor).data);
  }

  Arguments arguments;
  std::vector<Block> blocks;
};

bool IsCoordinate(std::string_view tensor) {
  return tensor == "rois" || tensor == "boxes" || tensor == "pts";
}

bool HasTinyValue(const TensorArgument& tensor) {
  for (int64_t e = 0; e < tensor.desc->ElementCount(); ++e) {
    const double value = std::abs(testing::LoadValue(tensor.data, tensor.desc->dtype, e));
    if (value > 0 && value < kMayUnderflow) return true;
  }
  return false;
}

// The magnitude of each sum: the reference for the absolute values of the inputs.
struct Magnitudes {
  Magnitudes(const testing::OperatorTest& test, const Arguments& arguments)
      : outputs(test, Absolute(arguments), /*as_double=*/true) {
    test.reference(outputs.arguments);
  }

  Arguments Absolute(const Arguments& arguments) {
    Arguments absolute = arguments;
    for (int i = 0; i < arguments.spec->tensor_count; ++i) {
      const TensorSpec& row = arguments.spec->tensors[i];
      TensorArgument& tensor = absolute.tensors[i];
      if (row.direction != kIn || row.type != kT) continue;
      if (IsCoordinate(row.name)) {
        may_underflow = may_underflow || HasTinyValue(tensor);
        continue;
      }
      const Block& copy = inputs.emplace_back(tensor.ByteCount());
      const size_t size = SizeOf(tensor.desc->dtype);
      if (copy.size() > 0) std::memcpy(copy.data(), tensor.data, copy.size());
      for (size_t b = size - 1; b < copy.size(); b += size) copy.data()[b] &= 0x7f;  // the sign
      tensor.data = copy.data();
      for (int64_t e = 0; e < tensor.desc->ElementCount(); ++e) {
        const double value = testing::LoadValue(tensor.data, tensor.desc->dtype, e);
        may_overflow = may_overflow || (std::isfinite(value) && value > kMayOverflow);
      }
    }
    return absolute;
  }

  std::vector<Block> inputs;
  bool may_overflow = false;   // an input exceeds the limit
  bool may_underflow = false;  // a coordinate is below the limit
  Outputs outputs;
};

// `value` rounded to the type; a double beyond the range of float becomes infinite first.
double Rounded(double value, mluOpDataType_t dtype) {
  const float single = std::abs(value) > FLT_MAX
                           ? std::copysign(INFINITY, static_cast<float>(value > 0 ? 1 : -1))
                           : static_cast<float>(value);
  return dtype == MLUOP_DTYPE_HALF ? ToFloat(ToHalf(single)) : single;
}

bool IsWithinTolerance(double got, double expected, double magnitude, mluOpDataType_t dtype) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  if (!std::isfinite(got) && dtype == MLUOP_DTYPE_FLOAT) return false;
  const double bound =
      std::isfinite(magnitude) ? magnitude * kMaxRoundings * 0x1p-24 : std::abs(expected) * 1e-3;
  const double margin = bound + kMaxRoundings * 0x1p-149;
  return Rounded(expected - margin, dtype) <= got && got <= Rounded(expected + margin, dtype);
}

std::string FirstMismatch(const TensorArgument& got, std::string_view name, const double* expected,
                          const Magnitudes& terms) {
  const double* magnitudes = terms.outputs.Doubles(name);
  for (int64_t i = 0; i < got.desc->ElementCount(); ++i) {
    const double value = testing::LoadValue(got.data, got.desc->dtype, i);
    // A finite magnitude above the limit needs no input above it: products of inputs may overflow too.
    const bool is_above = !(magnitudes[i] <= kMayOverflow);
    if (is_above && (terms.may_overflow || std::isfinite(magnitudes[i]))) continue;
    if (terms.may_underflow && !std::isfinite(magnitudes[i])) continue;
    if (IsWithinTolerance(value, expected[i], magnitudes[i], got.desc->dtype)) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "[%lld] must be %.9g, got %.9g; its terms sum up to %.9g",
                  static_cast<long long>(i), expected[i], value, magnitudes[i]);
    return text;
  }
  return "";
}

// The error of the plain loops; the dynamic criterion allows ten times as much.
testing::Threshold ThresholdOf(const testing::OperatorTest& test, const Arguments& arguments,
                               const OutputRule& rule, const double* expected) {
  if (rule.criterion == Criterion::kFixed) return {rule.threshold, rule.threshold};
  const Outputs plain(test, arguments, /*as_double=*/false);
  test.plain(plain.arguments);
  const TensorArgument& tensor = plain.arguments.Tensor(rule.tensor);
  const int64_t count = tensor.desc->ElementCount();
  return testing::ThresholdFrom(testing::Compare(tensor.data, tensor.desc->dtype, expected, count),
                                tensor.desc->dtype);
}

std::string CheckAccuracy(const testing::OperatorTest& test, const Arguments& arguments,
                          const OutputRule& rule, const Outputs& reference) {
  const TensorArgument& got = arguments.Tensor(rule.tensor);
  const double* expected = reference.Doubles(rule.tensor);
  const testing::Differences differences =
      testing::Compare(got.data, got.desc->dtype, expected, got.desc->ElementCount());
  if (differences.nonfinite_mismatch < 0 && differences.diff3_2 == 0) return "";
  const testing::Threshold threshold = ThresholdOf(test, arguments, rule, expected);
  const bool bias = rule.criterion == Criterion::kDynamic;
  const std::string error = testing::CheckDifferences(differences, threshold, bias);
  if (error.empty()) return "";
  const std::string far = FirstMismatch(got, rule.tensor, expected, Magnitudes(test, arguments));
  return far.empty() ? "" : far + "; " + error;
}

}  // namespace

std::string Disagreement(const testing::OperatorTest& test, const Arguments& arguments,
                         bool small_range) {
  const Outputs reference(test, arguments, /*as_double=*/true);
  test.reference(reference.arguments);
  for (const OutputRule& rule : test.outputs) {
    const TensorArgument& got = arguments.Tensor(rule.tensor);
    if (got.desc == nullptr) continue;
    const void* expected = reference.arguments.Tensor(rule.tensor).data;
    std::string error;
    if (rule.criterion == Criterion::kExact) {
      const int64_t i =
          testing::FirstDifference(got.data, expected, got.desc->ElementCount(), got.desc->dtype);
      if (i >= 0) error = "[" + std::to_string(i) + "] differs";
    } else if (rule.criterion != Criterion::kFamily) {
      error = CheckAccuracy(test, arguments, rule, reference);
    } else if (small_range || rule.tensor != kNearTies) {
      error = test.accept(arguments, rule.tensor, expected);
    }
    if (!error.empty()) return std::string(rule.tensor) + error;
  }
  return "";
}

}  // namespace mluop::fuzz
