// SPDX-License-Identifier: Apache-2.0
// border_align: the options of a case line and the inputs that they generate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "testing/case.h"
#include "testing/element.h"

namespace mluop::border_align {

inline void SetValue(const Arguments& a, std::string_view tensor, int64_t i, double value) {
  if (a.Type() == MLUOP_DTYPE_HALF) {
    a.Out<Half>(tensor)[i] = ToHalf(static_cast<float>(value));
  } else {
    a.Out<float>(tensor)[i] = static_cast<float>(value);
  }
}

inline constexpr std::string_view kBoxes[] = {"inside",     "outside", "edge",
                                              "degenerate", "bad",     "located"};

// A box's interval on an axis of `size` pixels.
inline std::pair<double, double> MakeInterval(std::string_view kind, int64_t size,
                                              testing::Random& random) {
  const auto length = static_cast<double>(size);
  const auto edge = [&] {
    const double choices[] = {-1, 0, length - 1, length, static_cast<double>(random.Below(size))};
    return choices[random.Below(5)];
  };
  if (kind == "edge") return {edge(), edge()};
  const double beyond = kind == "outside" ? length : 0;
  const double first = random.Uniform(-beyond, length - 1 + beyond);
  const double second = random.Uniform(-beyond, length - 1 + beyond);
  if (kind == "degenerate") {
    return random.Below(2) == 0 ? std::pair{first, first}
                                : std::pair{std::max(first, second), std::min(first, second)};
  }
  return {std::min(first, second), std::max(first, second)};
}

// An interval around pixel `at`, up to 8 pixels to both sides, as a detector predicts it there on
// the pyramid level for objects of that size.
inline std::pair<double, double> MakeIntervalAround(int64_t at, int64_t size,
                                                    testing::Random& random) {
  const auto middle = static_cast<double>(at), last = static_cast<double>(size - 1);
  const double first = middle - random.Uniform(0, 8), second = middle + random.Uniform(0, 8);
  return {std::max(first, 0.0), std::min(second, last)};
}

inline void GenerateBoxes(const testing::Case& c, const Arguments& a, testing::Random& random) {
  static constexpr double kBad[] = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    1e30,
                                    -1e30,
                                    6e4};
  const std::string& kind = c.Option("boxes");
  const int64_t height = a.Symbol("H"), width = a.Symbol("W"), count = a.Symbol("K");
  for (int64_t box = 0; box < a.Symbol("N") * count; ++box) {
    const int64_t at = box % count * (height * width) / count;  // the pixel of a located box
    const bool located = kind == "located";
    const auto [x1, x2] =
        located ? MakeIntervalAround(at % width, width, random) : MakeInterval(kind, width, random);
    const auto [y1, y2] = located ? MakeIntervalAround(at / width, height, random)
                                  : MakeInterval(kind, height, random);
    const double coordinates[] = {x1, y1, x2, y2};
    for (int64_t i = 0; i < 4; ++i) {
      const bool bad = kind == "bad" && random.Below(4) == 0;
      SetValue(a, "boxes", box * 4 + i, bad ? kBad[random.Below(6)] : coordinates[i]);
    }
  }
}

inline constexpr std::string_view kFeatures[] = {"data", "constant"};

inline void GenerateForward(const testing::Case& c, const Arguments& a, testing::Random& random) {
  GenerateBoxes(c, a, random);
  if (c.Option("features") == "data") return;
  const int64_t count = a.Tensor("input").desc->ElementCount();
  for (int64_t i = 0; i < count; ++i) SetValue(a, "input", i, -0.75);
}

inline constexpr std::string_view kArgmax[] = {"random", "wild"};

inline void GenerateBackward(const testing::Case& c, const Arguments& a, testing::Random& random) {
  GenerateBoxes(c, a, random);
  const int64_t samples = int64_t{a.Int("pool_size")} + 1;
  const bool wild = c.Option("argmax") == "wild";
  const int64_t count = a.Tensor("argmax_idx").desc->ElementCount();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t strange[] = {-1, std::min<int64_t>(samples, INT32_MAX), INT32_MIN, INT32_MAX};
    const int64_t index =
        wild && random.Below(3) == 0 ? strange[random.Below(4)] : random.Below(samples);
    a.Out<int32_t>("argmax_idx")[i] = static_cast<int32_t>(index);
  }
  // The sum of two of the largest floats overflows in float and not in double.
  for (int64_t i = 0; i < count; ++i) {
    const double value = testing::LoadValue(a.In<void>("grad_output"), a.Type(), i);
    if (std::isfinite(value)) SetValue(a, "grad_output", i, std::clamp(value, -1e3, 1e3));
  }
}

inline constexpr testing::Option kForwardOptions[] = {{"boxes", kBoxes}, {"features", kFeatures}};
inline constexpr testing::Option kBackwardOptions[] = {{"boxes", kBoxes}, {"argmax", kArgmax}};

}  // namespace mluop::border_align
