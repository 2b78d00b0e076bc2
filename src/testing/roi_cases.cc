// SPDX-License-Identifier: Apache-2.0
#include "testing/roi_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "testing/element.h"

namespace mluop::testing {
namespace {

RoiEnds MakeEnds(const std::string& kind, double size, Random& random) {
  if (kind == "outside") {
    const double first = random.Uniform(-1.5, 1.5) * size;
    return {first, first + random.Uniform(0, 1.5) * size};
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
void MakeInvalid(const Arguments& a, int64_t r, Random& random) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(a.Symbol("N"));
  const bool is_double = a.Type() == MLUOP_DTYPE_DOUBLE;
  const double huge = is_double ? 1.7e308 : 3e38;
  // In double the reference's coordinates are long double: 64 bits on x86, 113 on Arm. This length
  // divides into bins exactly in both, and both lose a pixel that is added to it.
  const double large = is_double ? a.Int("pooled_height") * a.Int("pooled_width") * 0x1p1000 : 1e30;
  const double batches[] = {kNan,     kInf, -kInf,   -1,  -0.5, -1.5, 0.9,
                            n - 0.25, n,    n + 0.5, 3e9, -3e9, 1e30};
  const double coordinates[] = {kNan,   kInf, -kInf, huge, -huge, large,
                                -large, 1e10, -1e10, 3e9,  -3e9,  2e9};
  const int64_t i = random.Below(5);
  const double value = i == 0 ? batches[random.Below(std::ssize(batches))]
                              : coordinates[random.Below(std::ssize(coordinates))];
  StoreValue(value, a.Type(), a.Out<void>("rois"), r * 5 + i);
}

}  // namespace

void GenerateRois(const Case& test_case, const Arguments& a, MakeRoiEnds make_ends,
                  Random& random) {
  const std::string& kind = test_case.Option("rois");
  const double scale = a.Float("spatial_scale");
  const auto ends = [&](std::string_view axis) {
    const double size = static_cast<double>(a.Symbol(axis)) / scale;
    return kind == "edge" || kind == "half" ? make_ends(kind, size, scale, random)
                                            : MakeEnds(kind, size, random);
  };
  for (int64_t r = 0; r < a.Symbol("R"); ++r) {
    const RoiEnds x = ends("W"), y = ends("H");
    const auto images = kind == "one_image" ? 1 : std::max<int64_t>(a.Symbol("N"), 1);
    const auto batch = static_cast<double>(random.Below(images));
    int64_t i = r * 5;
    for (const double value : {batch, x.first, y.first, x.last, y.last}) {
      StoreValue(value, a.Type(), a.Out<void>("rois"), i++);
    }
    if (kind == "bad" && random.Below(3) > 0) MakeInvalid(a, r, random);
  }
}

}  // namespace mluop::testing
