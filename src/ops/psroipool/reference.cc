// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of psroipool, written from the contract, and the RoIs and
// mappings of the cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/case.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::psroipool {
namespace {

using namespace mluop::testing;

struct Bin {
  int64_t r, ph, pw;
  int64_t image, hs, he, ws, we;
  int64_t Area() const { return (he - hs) * (we - ws); }
};

int64_t Clamped(long double whole, int64_t size) {
  return static_cast<int64_t>(std::clamp<long double>(whole, 0, static_cast<long double>(size)));
}

// Visits every bin of every roi, with empty bounds where the roi is empty. T is the type of rois, Real
// that of the coordinates.
template <typename T, typename Real, class Visit>
void ForEachBin(const Arguments& a, Visit visit) {
  const int64_t N = a.Symbol("N"), H = a.Symbol("H"), W = a.Symbol("W"), R = a.Symbol("R");
  const int pooled_height = a.Int("pooled_height"), pooled_width = a.Int("pooled_width");
  const Real s = a.Float("spatial_scale");
  const T* rois = a.In<T>("rois");
  for (int64_t r = 0; r < R; ++r) {
    const T* roi = rois + r * 5;
    const Real xs = std::round(roi[1]) * s, ys = std::round(roi[2]) * s;
    const Real xe = (Real{std::round(roi[3])} + 1) * s, ye = (Real{std::round(roi[4])} + 1) * s;
    const Real bw = std::max(xe - xs, static_cast<Real>(0.1)) / static_cast<Real>(pooled_width);
    const Real bh = std::max(ye - ys, static_cast<Real>(0.1)) / static_cast<Real>(pooled_height);
    bool empty = false;
    for (const Real value : {xs, xe, ys, ye, bw, bh})
      empty |= !std::isfinite(static_cast<T>(value));
    for (int i = 0; i < 5; ++i) empty |= !std::isfinite(roi[i]);
    const double batch = std::trunc(static_cast<double>(roi[0]));
    empty |= !(batch >= 0 && batch < static_cast<double>(N));
    for (int ph = 0; ph < pooled_height; ++ph)
      for (int pw = 0; pw < pooled_width; ++pw) {
        Bin bin = {r, ph, pw, 0, 0, 0, 0, 0};
        if (!empty) {
          bin.image = static_cast<int64_t>(batch);
          bin.hs = Clamped(std::floor(static_cast<Real>(ph) * bh + ys), H);
          bin.he = Clamped(std::ceil(static_cast<Real>(ph + 1) * bh + ys), H);
          bin.ws = Clamped(std::floor(static_cast<Real>(pw) * bw + xs), W);
          bin.we = Clamped(std::ceil(static_cast<Real>(pw + 1) * bw + xs), W);
        }
        visit(bin);
      }
  }
}

// T: of the tensors. Real: of coordinates. Value: of sums. Out: of the output.
template <typename T, typename Real, typename Value, typename Out>
void Forward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("group_size"), output_dim = a.Int("output_dim"), C = output_dim * G * G;
  const T* input = a.In<T>("input");
  Out* output = a.Out<Out>("output");
  int32_t* mapping = a.Out<int32_t>("mapping_channel");
  ForEachBin<T, Real>(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t ch = (c * G + b.ph) * G + b.pw;
      Value sum = 0;
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w) sum += input[((b.image * H + h) * W + w) * C + ch];
      const int64_t i = ((b.r * G + b.ph) * G + b.pw) * output_dim + c;
      output[i] = static_cast<Out>(b.Area() == 0 ? 0 : sum / static_cast<Value>(b.Area()));
      mapping[i] = static_cast<int32_t>(ch);
    }
  });
}

template <typename T, typename Real, typename Value, typename Out>
void Backward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("pooled_height"), output_dim = a.Int("output_dim"),
                C = output_dim * G * G;
  const T* top_grad = a.In<T>("top_grad");
  const int32_t* mapping = a.In<int32_t>("mapping_channel");
  OutputSums<Value, Out> all(a, "bottom_grad");
  Value* sums = all.data();
  ForEachBin<T, Real>(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t i = ((b.r * G + b.ph) * G + b.pw) * output_dim + c;
      const int64_t ch = mapping[i];
      if (ch < 0 || ch >= C) continue;
      const Value scaled_grad = static_cast<Value>(top_grad[i]) / static_cast<Value>(b.Area());
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w)
          sums[((b.image * H + h) * W + w) * C + ch] += scaled_grad;
    }
  });
}

// Of the input, the pixels that some bin reads, in the channels of that bin; an addition each, and
// the division.
template <typename T>
Work ForwardWork(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("group_size"), output_dim = a.Int("output_dim");
  TouchedLines input(a, "input");
  int64_t additions = 0;
  ForEachBin<T, T>(a, [&](const Bin& b) {
    additions += b.Area() * output_dim;
    for (int64_t h = b.hs; h < b.he; ++h)
      for (int64_t w = b.ws; w < b.we; ++w)
        for (int64_t c = 0; c < output_dim; ++c)
          input.Touch((((b.image * H + h) * W + w) * output_dim + c) * G * G + b.ph * G + b.pw);
  });
  const int64_t divisions = a.Tensor("output").desc->ElementCount();
  return {input.TotalBytes(), static_cast<double>(additions + divisions)};
}

template <typename T>
Work BackwardWork(const Arguments& a) {
  int64_t additions = 0;
  ForEachBin<T, T>(a, [&](const Bin& b) { additions += b.Area() * a.Int("output_dim"); });
  const int64_t divisions = a.Tensor("top_grad").desc->ElementCount();
  return {AllBytes(a), static_cast<double>(additions + divisions)};
}

struct Ends {
  double first, last;
};

// One axis of a roi, in the coordinates of an image `size` long.
Ends MakeEnds(const std::string& kind, double size, Random& random) {
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
  const double first = random.Uniform(0, size - length);
  return {first, first + length - 1};
}

// Replaces one value of a RoI: a non-finite or huge number, or a batch index just outside the range.
void MakeInvalid(const Arguments& a, int64_t r, Random& random) {
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

void GenerateRois(const Case& test_case, const Arguments& a, Random& random) {
  const std::string& kind = test_case.Option("rois");
  const double s = a.Float("spatial_scale");
  for (int64_t r = 0; r < a.Symbol("R"); ++r) {
    const Ends x = MakeEnds(kind, static_cast<double>(a.Symbol("W")) / s, random);
    const Ends y = MakeEnds(kind, static_cast<double>(a.Symbol("H")) / s, random);
    const double batch = static_cast<double>(random.Below(std::max<int64_t>(a.Symbol("N"), 1)));
    int64_t i = r * 5;
    for (const double value : {batch, x.first, y.first, x.last, y.last}) {
      StoreValue(value, a.Type(), a.Out<void>("rois"), i++);
    }
    if (kind == "bad" && random.Below(3) > 0) MakeInvalid(a, r, random);
  }
}

// Clamps the finite values: the sum of two FLT_MAX is infinite in float and finite in double.
void ClampToFinite(const Arguments& a, std::string_view tensor) {
  for (int64_t i = 0; i < a.Tensor(tensor).desc->ElementCount(); ++i) {
    const double value = LoadValue(a.In<void>(tensor), a.Type(), i);
    if (!std::isfinite(value)) continue;
    StoreValue(std::clamp(value, -1e30, 1e30), a.Type(), a.Out<void>(tensor), i);
  }
}

void GenerateForward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, random);
  ClampToFinite(a, "input");
}

// "wild": a third as forward has it, a third in any channel, a third outside. "last": forward's
// mapping except for the last element. Detects checks that do not read all elements.
void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, random);
  ClampToFinite(a, "top_grad");
  const bool wild = test_case.Option("mapping") == "wild";
  const int64_t G = a.Int("pooled_height"), output_dim = a.Int("output_dim"),
                C = output_dim * G * G;
  int32_t* mapping = a.Out<int32_t>("mapping_channel");
  for (int64_t i = 0; i < a.Symbol("R") * C; ++i) {
    int64_t ch = i % output_dim * G * G + i / output_dim % (G * G);
    if (const int64_t which = wild ? random.Below(3) : 0; which > 0) {
      const int64_t outside[] = {-1, C, INT32_MIN, INT32_MAX};
      ch = which == 1 ? random.Below(C) : outside[random.Below(4)];
    }
    mapping[i] = static_cast<int32_t>(ch);
  }
  if (test_case.Option("mapping") == "last") --mapping[a.Symbol("R") * C - 1];
}

mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsRoiPoolForward(
      handle, a.Int("pooled_height"), a.Int("pooled_width"), a.Float("spatial_scale"),
      a.Int("group_size"), a.Int("output_dim"), Desc(a, "input"), a.In<void>("input"),
      Desc(a, "rois"), a.In<void>("rois"), a.workspace.data, a.workspace.size, Desc(a, "output"),
      a.Out<void>("output"), Desc(a, "mapping_channel"), a.Out<void>("mapping_channel"));
}

mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsRoiPoolBackward(handle, a.Int("pooled_height"), a.Int("pooled_width"),
                                a.Float("spatial_scale"), a.Int("output_dim"), Desc(a, "top_grad"),
                                a.In<void>("top_grad"), Desc(a, "rois"), a.In<void>("rois"),
                                Desc(a, "mapping_channel"), a.In<void>("mapping_channel"),
                                Desc(a, "bottom_grad"), a.Out<void>("bottom_grad"));
}

mluOpStatus_t CallForwardWorkspace(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return mluOpGetPsRoiPoolForwardWorkspaceSize(handle, a.Int("pooled_height"),
                                               a.Int("pooled_width"), a.Int("output_dim"),
                                               Desc(a, "input"), Desc(a, "rois"), size);
}

constexpr OutputRule kForwardOutputs[] = {{"output", Criterion::kFixed, 1e-6},
                                          {"mapping_channel", Criterion::kExact}};
constexpr OutputRule kBackwardOutputs[] = {{"bottom_grad", Criterion::kFixed, 1e-6}};

constexpr std::string_view kRoiKinds[] = {"inside", "outside", "edge", "half", "point", "bad"};
constexpr std::string_view kMappings[] = {"forward", "wild", "last"};
constexpr Option kForwardOptions[] = {{"rois", kRoiKinds}};
constexpr Option kBackwardOptions[] = {{"rois", kRoiKinds}, {"mapping", kMappings}};

constexpr OperatorTest kOperators[] = {
    {.name = "psroipool_forward",
     .outputs = kForwardOutputs,
     .options = kForwardOptions,
     .call = CallForward,
     .workspace_size = CallForwardWorkspace,
     .generate = GenerateForward,
     .reference = ByType<Forward<float, float, double, double>,
                         Forward<double, long double, long double, double>>,
     .plain = ByType<Forward<float, float, float, float>, Forward<double, double, double, double>>,
     .work = ByType<ForwardWork<float>, ForwardWork<double>>},
    {.name = "psroipool_backward",
     .outputs = kBackwardOutputs,
     .options = kBackwardOptions,
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = GenerateBackward,
     .reference = ByType<Backward<float, float, double, double>,
                         Backward<double, long double, long double, double>>,
     .plain =
         ByType<Backward<float, float, float, float>, Backward<double, double, double, double>>,
     .work = ByType<BackwardWork<float>, BackwardWork<double>>},
};

constexpr GetterTest kGetters[] = {{"psroipool_forward_workspace", CallForwardWorkspace}};

}  // namespace

extern const FamilyTest kFamilyTest;
constexpr FamilyTest kFamilyTest = {"psroipool", kOperators, kGetters};

}  // namespace mluop::psroipool
