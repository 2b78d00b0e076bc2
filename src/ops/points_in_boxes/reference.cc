// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of points_in_boxes, written from the contract, and the scenes
// of the cases. Uses no code of problem.h, so that errors there are found.
#include <cmath>
#include <limits>

#include "mluops/extensions.h"
#include "testing/case.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::points_in_boxes {
namespace {

using namespace mluop::testing;

// Returns whether the point is in the box. Computes in Real. cosa, sina: cosine and sine of the
// negative angle.
template <typename T, typename Real>
bool IsInside(const T* point, const T* box, Real cosa, Real sina) {
  const Real x = point[0], y = point[1], z = point[2];
  const Real cx = box[0], cy = box[1], cz = box[2], dx = box[3], dy = box[4], dz = box[5];
  const Real lx = (x - cx) * cosa - (y - cy) * sina;
  const Real ly = (x - cx) * sina + (y - cy) * cosa;
  return std::abs(z - (cz + dz / 2)) <= dz / 2 && std::abs(lx) < dx / 2 && std::abs(ly) < dy / 2;
}

// Visits (scene, point, box, whether the point is inside), boxes in ascending order. Cosine and sine
// are computed in Angle.
template <typename T, typename Real, typename Angle, class Visit>
void ForEachPair(const Arguments& a, Visit visit) {
  const int64_t B = a.Symbol("B"), M = a.Symbol("M"), count = a.Symbol("T");
  const T *points = a.In<T>("points"), *boxes = a.In<T>("boxes");
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < count; ++t) {
      const T* box = boxes + (b * count + t) * 7;
      const Angle angle = -static_cast<Angle>(box[6]);
      const auto cosa = static_cast<Real>(std::cos(angle));
      const auto sina = static_cast<Real>(std::sin(angle));
      for (int64_t m = 0; m < M; ++m)
        visit(b, m, t, IsInside<T, Real>(points + (b * M + m) * 3, box, cosa, sina));
    }
}

template <typename T, typename Real, typename Angle>
void First(const Arguments& a) {
  const int64_t M = a.Symbol("M");
  auto* indices = a.Out<int32_t>("points_indices");
  for (int64_t i = 0; i < a.Symbol("B") * M; ++i) indices[i] = -1;
  ForEachPair<T, Real, Angle>(a, [=](int64_t b, int64_t m, int64_t t, bool inside) {
    int32_t& index = indices[b * M + m];
    if (inside && index < 0) index = static_cast<int32_t>(t);
  });
}

template <typename T, typename Real, typename Angle>
void All(const Arguments& a) {
  const int64_t M = a.Symbol("M"), boxes = a.Symbol("T");
  auto* all = a.Out<int32_t>("inside");
  ForEachPair<T, Real, Angle>(a, [=](int64_t b, int64_t m, int64_t t, bool inside) {
    all[(b * M + m) * boxes + t] = inside ? 1 : 0;
  });
}

// Every point is tested against every box: 3 differences, 4 products, 2 sums, 3 comparisons.
Work PairWork(const Arguments& a) {
  const auto pairs = static_cast<double>(a.Symbol("B") * a.Symbol("M") * a.Symbol("T"));
  return {AllBytes(a), pairs * 12};
}

// Fills boxes and points of a case.
class Scene {
 public:
  Scene(const Case& test_case, const Arguments& arguments, Random& random)
      : a_(arguments), random_(random), kind_(test_case.Option("scene")) {}

  void Make() {
    const int64_t boxes = a_.Symbol("T"), points = a_.Symbol("M");
    for (int64_t b = 0; b < a_.Symbol("B") * boxes; ++b) MakeBox(b);
    for (int64_t i = 0; i < a_.Symbol("B") * points; ++i) {
      MakePoint(i, i / points * boxes + random_.Below(boxes));
    }
  }

 private:
  bool is_double() const { return a_.Type() == MLUOP_DTYPE_DOUBLE; }
  double Jitter(double most) { return random_.Uniform(-most, most); }
  double SpecialValue() {
    static constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL,
                                          -HUGE_VAL, 1e30, 0};
    return kSpecial[random_.Below(std::ssize(kSpecial))];
  }
  double Grid(int64_t n) { return static_cast<double>(random_.Below(2 * n + 1) - n) / 2; }
  double Box(int64_t box, int value) const {
    return LoadValue(a_.In<void>("boxes"), a_.Type(), box * 7 + value);
  }
  void Store(std::string_view tensor, int64_t first, std::initializer_list<double> values) {
    for (const double value : values) StoreValue(value, a_.Type(), a_.Out<void>(tensor), first++);
  }

  // "edge": on a grid, rotated by multiples of 90 degrees. In double no box is rotated. Rounding
  // errors, which the reference does not share, would decide whether a point on a face of a rotated
  // box is inside. "utm": metres from a distant origin.
  void MakeBox(int64_t box) {
    static constexpr double kTurns[] = {0, M_PI_2, M_PI, -M_PI_2, 0.5};
    if (kind_ == "edge") {
      const int64_t turns = is_double() ? 1 : std::ssize(kTurns);
      double values[] = {Grid(4), Grid(4), Grid(2), 4, 2, 3, kTurns[random_.Below(turns)]};
      if (random_.Below(6) == 0) values[3 + random_.Below(3)] = 0;
      if (random_.Below(12) == 0) values[random_.Below(7)] = SpecialValue();
      if (random_.Below(12) == 0) values[3 + random_.Below(3)] *= -1;
      for (int i = 0; i < 7; ++i) Store("boxes", box * 7 + i, {values[i]});
      return;
    }
    const double east = kind_ == "utm" ? 500000.3 : 0, north = kind_ == "utm" ? 4649776.7 : 0;
    Store("boxes", box * 7,
          {east + random_.Uniform(0, 70), north + Jitter(40), random_.Uniform(-2, -1),
           3.9 + Jitter(0.4), 1.6 + Jitter(0.2), 1.5 + Jitter(0.2), Jitter(M_PI)});
  }

  // Near a box, or on its faces and edges.
  void MakePoint(int64_t point, int64_t box) {
    const bool edge = kind_ == "edge";
    const auto fraction = [&] {
      return edge ? static_cast<double>(random_.Below(3)) / 2 - 0.5 : Jitter(0.7);
    };
    const double turn = Box(box, 6), c = std::cos(turn), s = std::sin(turn);
    const double along = fraction() * Box(box, 3), across = fraction() * Box(box, 4);
    Store("points", point * 3,
          {Box(box, 0) + along * c - across * s, Box(box, 1) + along * s + across * c,
           Box(box, 2) + (fraction() + 0.5) * Box(box, 5)});
    if (edge && random_.Below(20) == 0)
      Store("points", point * 3 + random_.Below(3), {SpecialValue()});
  }

  const Arguments& a_;
  Random& random_;
  const std::string& kind_;
};

void Generate(const Case& test_case, const Arguments& a, Random& random) {
  Scene(test_case, a, random).Make();
}

template <auto kFunction>
mluOpStatus_t Call(mluOpHandle_t handle, const Arguments& a) {
  const std::string_view output = a.spec->tensors[2].name;
  return kFunction(handle, Desc(a, "points"), a.In<void>("points"), Desc(a, "boxes"),
                   a.In<void>("boxes"), Desc(a, output), a.Out<void>(output));
}

constexpr std::string_view kScenes[] = {"cars", "edge", "utm"};
constexpr Option kOptions[] = {{"scene", kScenes}};
constexpr OutputRule kFirstOutputs[] = {{"points_indices", Criterion::kExact}};
constexpr OutputRule kAllOutputs[] = {{"inside", Criterion::kExact}};

constexpr OperatorTest kOperators[] = {
    {.name = "points_in_boxes",
     .outputs = kFirstOutputs,
     .options = kOptions,
     .call = Call<mluOpPointsInBoxes>,
     .workspace_size = nullptr,
     .generate = Generate,
     .reference = ByType<First<float, float, double>, First<double, long double, long double>>,
     .plain = ByType<First<float, float, double>, First<double, double, double>>,
     .work = PairWork},
    {.name = "points_in_boxes_all",
     .outputs = kAllOutputs,
     .options = kOptions,
     .call = Call<mluOpPointsInBoxesAll>,
     .workspace_size = nullptr,
     .generate = Generate,
     .reference = ByType<All<float, float, double>, All<double, long double, long double>>,
     .plain = ByType<All<float, float, double>, All<double, double, double>>,
     .work = PairWork},
};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"points_in_boxes", kOperators, {}};

}  // namespace mluop::points_in_boxes
