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

inline constexpr std::string_view kBoxes[] = {"inside", "outside", "edge",   "degenerate",
                                              "bad",    "located", "clipped"};

// A box's interval on an axis of `size` pixels. "located": around pixel `at`, up to 8 pixels to
// both sides. This is how a detector predicts it there on the pyramid level for objects of that
// size. "clipped": centred on pixel `at`, 4 to 40 pixels long, as a detector predicts boxes of all
// sizes on one level; many of them end on the map's borders.
inline std::pair<double, double> MakeInterval(std::string_view kind, int64_t at, int64_t size,
                                              testing::Random& random) {
  const auto length = static_cast<double>(size), middle = static_cast<double>(at);
  if (kind == "located") {
    const double below = random.Uniform(0, 8), above = random.Uniform(0, 8);
    return {std::max(middle - below, 0.0), std::min(middle + above, length - 1)};
  }
  if (kind == "clipped") {
    const double half_length = random.Uniform(2, 20);
    return {std::max(middle - half_length, 0.0), std::min(middle + half_length, length - 1)};
  }
  const auto edge = [&] {
    const double choices[] = {-1, 0, length - 1, length, static_cast<double>(random.Below(size))};
    return choices[random.Below(5)];
  };
  if (kind == "edge") return {edge(), edge()};
  const double beyond = kind == "outside" ? length : 0;
  const double first = random.Uniform(-beyond, length - 1 + beyond);
  const double second = random.Uniform(-beyond, length - 1 + beyond);
  if (kind != "degenerate") return std::minmax(first, second);
  if (random.Below(2) == 0) return {first, first};
  return {std::max(first, second), std::min(first, second)};
}

inline void GenerateBoxes(const testing::Case& c, const Arguments& a, testing::Random& random) {
  // In double the reference's coordinates are long double: 64 bits on x86, 113 on Arm. A walk from
  // pool_size * 2^1000 to a pixel has exact steps in all of them, and its last sample is at 0.
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kBadFloats[] = {kNan, HUGE_VAL, -HUGE_VAL, 1e30, -1e30, 6e4};
  const double huge = a.Int("pool_size") * 0x1p1000;
  const double bad_doubles[] = {kNan, HUGE_VAL, -HUGE_VAL, huge, -huge, 64};
  const double* const all_bad = a.Type() == MLUOP_DTYPE_DOUBLE ? bad_doubles : kBadFloats;
  const std::string& kind = c.Option("boxes");
  const int64_t height = a.Symbol("H"), width = a.Symbol("W"), count = a.Symbol("K");
  for (int64_t box = 0; box < a.Symbol("N") * count; ++box) {
    const int64_t at =
        box % count * (height * width) / count;  // the pixel of a located or clipped box
    const auto [x1, x2] = MakeInterval(kind, at % width, width, random);
    const auto [y1, y2] = MakeInterval(kind, at / width, height, random);
    const double coordinates[] = {x1, y1, x2, y2};
    for (int64_t i = 0; i < 4; ++i) {
      const bool bad = kind == "bad" && random.Below(4) == 0;
      testing::StoreValue(bad ? all_bad[random.Below(6)] : coordinates[i], a.Type(),
                          a.Out<void>("boxes"), box * 4 + i);
    }
  }
}

inline constexpr std::string_view kFeatures[] = {"data", "constant"};

inline void GenerateForward(const testing::Case& c, const Arguments& a, testing::Random& random) {
  GenerateBoxes(c, a, random);
  const int64_t count = a.Tensor("input").desc->ElementCount();
  const bool constant = c.Option("features") == "constant";
  for (int64_t i = 0; constant && i < count; ++i) {
    testing::StoreValue(-0.75, a.Type(), a.Out<void>("input"), i);
  }
  // The square of a larger number overflows in diff2.
  if (a.Type() == MLUOP_DTYPE_DOUBLE) testing::ClampFinite(a, "input", 1e30);
}

inline constexpr std::string_view kArgmax[] = {"random", "wild"};

inline void GenerateBackward(const testing::Case& c, const Arguments& a, testing::Random& random) {
  GenerateBoxes(c, a, random);
  const int64_t samples = int64_t{a.Int("pool_size")} + 1;
  const bool wild = c.Option("argmax") == "wild";
  const int64_t count = a.Tensor("argmax_idx").desc->ElementCount();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t invalid[] = {-1, std::min<int64_t>(samples, INT32_MAX), INT32_MIN, INT32_MAX};
    const int64_t index =
        wild && random.Below(3) == 0 ? invalid[random.Below(4)] : random.Below(samples);
    a.Out<int32_t>("argmax_idx")[i] = static_cast<int32_t>(index);
  }
  testing::ClampFinite(a, "grad_output", 1e3);
}

inline constexpr testing::Option kForwardOptions[] = {{"boxes", kBoxes}, {"features", kFeatures}};
inline constexpr testing::Option kBackwardOptions[] = {{"boxes", kBoxes}, {"argmax", kArgmax}};

}  // namespace mluop::border_align
