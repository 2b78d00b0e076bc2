// SPDX-License-Identifier: Apache-2.0
// The accuracy criteria against numbers computed by hand, and the conversions between half and
// float.
#include "testing/accuracy.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "core/dtype.h"
#include "testing/random.h"

namespace mluop::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Differences CompareFloats(const std::vector<float>& e, const std::vector<double>& b) {
  return Compare(e.data(), MLUOP_DTYPE_FLOAT, b.data(), static_cast<int64_t>(b.size()));
}

TEST(Compare, DifferencesEqualNumbersComputedByHand) {
  const Differences d = CompareFloats({1.5f, -2.0f, 4.0f, 0.0f}, {1.0, -4.0, 4.0, 0.0});
  EXPECT_NEAR(d.diff1, 2.5 / 9.0, 1e-9);                       // (0.5+2) / (1+4+4)
  EXPECT_NEAR(d.diff2, std::sqrt((0.25 + 4.0) / 33.0), 1e-9);  // (1+16+16)
  EXPECT_NEAR(d.diff3_1, 0.5, 1e-8);                           // 0.5/1 and 2/4
  EXPECT_DOUBLE_EQ(d.diff3_2, 2.0);
  EXPECT_NEAR(d.diff3, 0.5, 1e-8);
  EXPECT_EQ(d.above, 2);  // 1.5 > 1 and -2 > -4
  EXPECT_EQ(d.below, 0);
  EXPECT_EQ(d.nonfinite_mismatch, -1);
}

TEST(Compare, EqualNumbersHaveNoDifference) {
  const Differences d = CompareFloats({1.5f, -0.0f, 1e-30f}, {1.5, 0.0, double{1e-30f}});
  EXPECT_EQ(d.diff1, 0);
  EXPECT_EQ(d.diff2, 0);
  EXPECT_EQ(d.diff3_1, 0);
  EXPECT_EQ(d.diff3_2, 0);
  EXPECT_EQ(d.diff3, 0);
  EXPECT_EQ(d.above + d.below, 0);
}

TEST(Compare, EmptyTensorsHaveNoDifference) {
  const Differences d = CompareFloats({}, {});
  EXPECT_EQ(d.diff1, 0);
  EXPECT_EQ(d.diff2, 0);
}

TEST(Compare, ZeroBaselineDoesNotDivideByZero) {
  const Differences d = CompareFloats({1e-9f}, {0.0});
  EXPECT_NEAR(d.diff1, 1.0, 1e-6);
  EXPECT_NEAR(d.diff3_1, 1.0, 1e-6);
}

// diff3 is absolute up to |b| = th, relative above.
TEST(Compare, Diff3ChangesAtTheThresholdOfTheType) {
  const Differences below = CompareFloats({2e-6f}, {1e-6});
  EXPECT_NEAR(below.diff3, 1e-6, 1e-9);
  const Differences above = CompareFloats({2.4e-6f}, {1.2e-6});
  EXPECT_NEAR(above.diff3, 1.0, 1e-2);
  const uint16_t half[] = {ToHalf(0.0002f).bits};
  const double baseline[] = {0.0001};
  const Differences half_below = Compare(half, MLUOP_DTYPE_HALF, baseline, 1);
  EXPECT_NEAR(half_below.diff3, 1e-4, 1e-6);
}

TEST(Compare, NanOrInfInOnlyOneResultIsReported) {
  const auto inf = static_cast<float>(kInf);
  const auto nan = static_cast<float>(kNan);
  EXPECT_EQ(CompareFloats({1, nan, inf, -inf}, {1, kNan, kInf, -kInf}).nonfinite_mismatch, -1);
  EXPECT_EQ(CompareFloats({1, nan}, {1, 2}).nonfinite_mismatch, 1);
  EXPECT_EQ(CompareFloats({1, 2}, {1, kNan}).nonfinite_mismatch, 1);
  EXPECT_EQ(CompareFloats({inf}, {-kInf}).nonfinite_mismatch, 0);
  EXPECT_EQ(CompareFloats({3e38f}, {kInf}).nonfinite_mismatch, 0);
  EXPECT_EQ(CompareFloats({inf}, {kNan}).nonfinite_mismatch, 0);
  EXPECT_EQ(CompareFloats({1, 2, nan, nan}, {1, 2, 3, 4}).nonfinite_mismatch, 2);
}

TEST(Compare, NanInBothDoesNotHideOtherElements) {
  const Differences d = CompareFloats({static_cast<float>(kNan), 3.0f}, {kNan, 2.0});
  EXPECT_NEAR(d.diff1, 0.5, 1e-9);
  EXPECT_EQ(d.above, 1);
}

// A sum beyond the range of half must be infinity in half.
TEST(Compare, BaselineBeyondHalfCountsAsInfinity) {
  const uint16_t half[] = {0x7c00, 0xfc00, 0x7bff};
  const double baseline[] = {70000, -1e300, 65504};
  EXPECT_EQ(Compare(half, MLUOP_DTYPE_HALF, baseline, 3).nonfinite_mismatch, -1);
}

TEST(CheckDifferences, NamesTheCriterionThatFails) {
  const Threshold threshold = {0.1, 0.2};
  EXPECT_EQ(CheckDifferences({.diff1 = 0.1, .diff2 = 0.2}, threshold, true), "");
  EXPECT_NE(CheckDifferences({.diff1 = 0.11}, threshold, true).find("diff1"), std::string::npos);
  EXPECT_NE(CheckDifferences({.diff2 = 0.21}, threshold, true).find("diff2"), std::string::npos);
  EXPECT_NE(CheckDifferences({.diff1 = kNan}, threshold, true).find("diff1"), std::string::npos);
  EXPECT_NE(CheckDifferences({.nonfinite_mismatch = 3}, threshold, true).find("NaN"),
            std::string::npos);
}

TEST(CheckDifferences, TestsBiasFrom100UnequalElementsOn) {
  const Threshold threshold = {1, 1};
  EXPECT_EQ(CheckDifferences({.above = 99, .below = 0}, threshold, true), "");
  EXPECT_NE(CheckDifferences({.above = 100, .below = 0}, threshold, true).find("diff4"),
            std::string::npos);
  EXPECT_NE(CheckDifferences({.above = 24, .below = 76}, threshold, true).find("diff4"),
            std::string::npos);
  EXPECT_EQ(CheckDifferences({.above = 25, .below = 75}, threshold, true), "");
  EXPECT_EQ(CheckDifferences({.above = 75, .below = 25}, threshold, true), "");
  EXPECT_EQ(CheckDifferences({.above = 100, .below = 0}, threshold, false), "");
}

TEST(ThresholdFrom, IsTenTimesTheErrorOfPlainLoopsAndAtLeastOneRounding) {
  const Threshold wide = ThresholdFrom({.diff1 = 1e-3, .diff2 = 2e-3}, MLUOP_DTYPE_FLOAT);
  EXPECT_DOUBLE_EQ(wide.diff1, 1e-2);
  EXPECT_DOUBLE_EQ(wide.diff2, 2e-2);
  EXPECT_DOUBLE_EQ(ThresholdFrom({}, MLUOP_DTYPE_FLOAT).diff1, 1.2e-7);
  EXPECT_DOUBLE_EQ(ThresholdFrom({}, MLUOP_DTYPE_HALF).diff2, 9.8e-4);
}

TEST(FirstDifference, ComparesBits) {
  const float a[] = {1, 0.0f, 3};
  const float b[] = {1, -0.0f, 4};
  EXPECT_EQ(FirstDifference(a, a, 3, MLUOP_DTYPE_FLOAT), -1);
  EXPECT_EQ(FirstDifference(a, b, 3, MLUOP_DTYPE_FLOAT), 1);
  EXPECT_EQ(FirstDifference(a, b, 1, MLUOP_DTYPE_FLOAT), -1);
  EXPECT_EQ(FirstDifference(nullptr, nullptr, 0, MLUOP_DTYPE_FLOAT), -1);
  const uint16_t c[] = {1, 2, 3}, d[] = {1, 2, 4};
  EXPECT_EQ(FirstDifference(c, d, 3, MLUOP_DTYPE_HALF), 2);
}

// The value of a half, from the definition of the format.
double ValueOf(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool IsFinite(uint16_t bits) { return (bits & 0x7c00) != 0x7c00; }

TEST(ToFloat, EveryHalfKeepsItsValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = ToFloat(Half{half});
    if (IsFinite(half)) {
      ASSERT_EQ(value, ValueOf(half)) << bits;
      ASSERT_EQ(std::signbit(value), half >= 0x8000) << bits;
    } else {
      ASSERT_EQ(std::isinf(value), (half & 0x3ff) == 0) << bits;
      ASSERT_EQ(std::isnan(value), (half & 0x3ff) != 0) << bits;
    }
  }
}

TEST(ToHalf, RoundTripThroughFloatKeepsBits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool nan = !IsFinite(half) && (half & 0x3ff) != 0;
    const auto expected = static_cast<uint16_t>(nan ? half | 0x200 : half);  // a NaN becomes quiet
    ASSERT_EQ(ToHalf(ToFloat(Half{half})).bits, expected) << bits;
  }
}

// The midpoint of two neighbours rounds to the even one, the floats next to it to the nearer one.
TEST(ToHalf, RoundsToNearestEven) {
  for (uint16_t low = 0; low < 0x7bff; ++low) {
    const uint16_t high = low + 1;
    const auto middle = static_cast<float>((ValueOf(low) + ValueOf(high)) / 2);
    const uint16_t even = (low & 1) == 0 ? low : high;
    ASSERT_EQ(ToHalf(middle).bits, even) << low;
    ASSERT_EQ(ToHalf(-middle).bits, even | 0x8000) << low;
    ASSERT_EQ(ToHalf(std::nextafterf(middle, 0)).bits, low) << low;
    ASSERT_EQ(ToHalf(std::nextafterf(middle, 1e9f)).bits, high) << low;
  }
}

TEST(ToHalf, ReturnsInfinityFrom65520On) {
  EXPECT_EQ(ToHalf(65519.996f).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToHalf(-65520.0f).bits, 0xfc00);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(ToHalf, UnderflowKeepsTheSign) {
  EXPECT_EQ(ToHalf(0x1p-25f).bits,
            0);  // the midpoint of 0 and the smallest denormal rounds to even
  EXPECT_EQ(ToHalf(-0x1p-26f).bits, 0x8000);
  EXPECT_EQ(ToHalf(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) uint16_t HardwareHalf(float value) {
  const __m128i halves = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT);
  return static_cast<uint16_t>(_mm_cvtsi128_si32(halves));
}

bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

TEST(ToHalf, EqualsF16cForRandomBits) {
  if (!HasF16c()) GTEST_SKIP() << "this CPU has no F16C";
  Random random(7);
  for (int i = 0; i < 2000000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.Bits()));
    ASSERT_EQ(ToHalf(value).bits, HardwareHalf(value)) << std::bit_cast<uint32_t>(value);
  }
}
#endif

}  // namespace
}  // namespace mluop::testing
