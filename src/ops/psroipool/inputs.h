// SPDX-License-Identifier: Apache-2.0
// psroipool: the options of a case line and the inputs that they generate, and the indices of
// elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "testing/case.h"
#include "testing/element.h"

namespace mluop::psroipool {

using testing::Case;
using testing::ClampFinite;
using testing::Option;
using testing::Random;
using testing::StoreValue;

// Indices of elements: NHWC, or NCHW in the operators with that name.
struct Indices {
  bool nchw;
  int64_t H, W, G, output_dim;

  explicit Indices(const Arguments& a)
      : nchw(a.spec->name.find("nchw") != std::string_view::npos),
        H(a.Symbol("H")),
        W(a.Symbol("W")),
        G(a.Int("pooled_height")),
        output_dim(a.Int("output_dim")) {}

  int64_t C() const { return output_dim * G * G; }
  int64_t Map(int64_t image, int64_t h, int64_t w, int64_t ch) const {
    return nchw ? ((image * C() + ch) * H + h) * W + w : ((image * H + h) * W + w) * C() + ch;
  }
  int64_t Pooled(int64_t r, int64_t ph, int64_t pw, int64_t c) const {
    return nchw ? ((r * output_dim + c) * G + ph) * G + pw
                : ((r * G + ph) * G + pw) * output_dim + c;
  }
};

struct Ends {
  double first, last;
};

// One axis of a RoI, in the coordinates of an image `size` long.
inline Ends MakeEnds(const std::string& kind, double size, Random& random) {
  if (kind == "outside") {
    const double first = random.Uniform(-1.5, 1.5) * size;
    return {first, first + random.Uniform(0, 1.5) * size};
  }
  if (kind == "edge") {
    const double places[] = {-1, 0, std::floor(size / 2), size - 1, size, size + 1};
    const auto any = [&] { return places[random.Below(std::ssize(places))]; };
    const double first = any();
    return {first, any()};
  }
  if (kind == "half") {
    const double first = std::floor(random.Uniform(-0.5, 1) * size) + 0.5;
    return {first, first + std::floor(random.Uniform(0, 0.7) * size)};
  }
  if (kind == "point") {
    const double place = random.Uniform(0, size);
    return {place, place};
  }
  const double length =
      size * std::exp2(random.Uniform(-3, 0));  // as a detector's: small ones, large ones
  // "object": the RoIs of "inside", moved to the centre of the image.
  const double first = kind == "object" ? (size - length) / 2 : random.Uniform(0, size - length);
  return {first, first + length - 1};
}

// Replaces one value of a RoI: a non-finite or huge number, or a batch index just outside the range.
inline void MakeInvalid(const Arguments& a, int64_t r, Random& random) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(a.Symbol("N"));
  const double huge = a.Type() == MLUOP_DTYPE_DOUBLE ? 1.7e308 : 3e38;
  const double batches[] = {kNan,     kInf, -kInf,   -1,  -0.5, -1.5, 0.9,
                            n - 0.25, n,    n + 0.5, 3e9, -3e9, 1e30};
  const double coordinates[] = {kNan, kInf, -kInf, huge, -huge, 1e10, -1e10};
  const int64_t i = random.Below(5);
  const double value = i == 0 ? batches[random.Below(std::ssize(batches))]
                              : coordinates[random.Below(std::ssize(coordinates))];
  StoreValue(value, a.Type(), a.Out<void>("rois"), r * 5 + i);
}

inline void GenerateRois(const Case& test_case, const Arguments& a, Random& random) {
  const std::string& kind = test_case.Option("rois");
  const double s = a.Float("spatial_scale");
  for (int64_t r = 0; r < a.Symbol("R"); ++r) {
    const Ends x = MakeEnds(kind, static_cast<double>(a.Symbol("W")) / s, random);
    const Ends y = MakeEnds(kind, static_cast<double>(a.Symbol("H")) / s, random);
    const auto images = kind == "one_image" ? 1 : std::max<int64_t>(a.Symbol("N"), 1);
    const auto batch = static_cast<double>(random.Below(images));
    int64_t i = r * 5;
    for (const double value : {batch, x.first, y.first, x.last, y.last}) {
      StoreValue(value, a.Type(), a.Out<void>("rois"), i++);
    }
    if (kind == "bad" && random.Below(3) > 0) MakeInvalid(a, r, random);
  }
}

inline void GenerateForward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, random);
  ClampFinite(a, "input", 1e30);
}

// "wild": a third as forward has it, a third in any channel, a third outside. "last": forward's
// mapping except for the last element; it detects checks that do not read all elements.
inline void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, random);
  ClampFinite(a, "top_grad", 1e30);
  const bool wild = test_case.Option("mapping") == "wild";
  const Indices at(a);
  const int64_t C = at.C(), bins = at.G * at.G;
  int32_t* mapping = a.Out<int32_t>("mapping_channel");
  for (int64_t i = 0; i < a.Symbol("R") * C; ++i) {
    int64_t ch = at.nchw ? i % C : i % at.output_dim * bins + i / at.output_dim % bins;
    if (const int64_t which = wild ? random.Below(3) : 0; which > 0) {
      const int64_t outside[] = {-1, C, INT32_MIN, INT32_MAX};
      ch = which == 1 ? random.Below(C) : outside[random.Below(4)];
    }
    mapping[i] = static_cast<int32_t>(ch);
  }
  if (test_case.Option("mapping") == "last") --mapping[a.Symbol("R") * C - 1];
}

inline constexpr std::string_view kRoiKinds[] = {"inside", "outside", "edge",   "half",
                                                 "point",  "bad",     "object", "one_image"};
inline constexpr std::string_view kMappings[] = {"forward", "wild", "last"};
inline constexpr Option kForwardOptions[] = {{"rois", kRoiKinds}};
inline constexpr Option kBackwardOptions[] = {{"rois", kRoiKinds}, {"mapping", kMappings}};

}  // namespace mluop::psroipool
