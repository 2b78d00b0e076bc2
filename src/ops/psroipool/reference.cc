// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of psroipool, written from the contract, and the RoIs and
// mappings of the cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "testing/case.h"
#include "testing/operator_test.h"

namespace mluop::psroipool {
namespace {

using namespace mluop::testing;

struct Bin {
  int64_t r, ph, pw;
  int64_t image, hs, he, ws, we;
  int64_t Area() const { return (he - hs) * (we - ws); }
};

int64_t Clamped(float whole, int64_t size) {
  return static_cast<int64_t>(std::clamp<double>(whole, 0, static_cast<double>(size)));
}

// Visits every bin of every roi, with empty bounds where the roi is empty.
template <class Visit>
void ForEachBin(const Arguments& a, Visit visit) {
  const int64_t N = a.Symbol("N"), H = a.Symbol("H"), W = a.Symbol("W"), R = a.Symbol("R");
  const int pooled_height = a.Int("pooled_height"), pooled_width = a.Int("pooled_width");
  const float s = a.Float("spatial_scale");
  const float* rois = a.In<float>("rois");
  for (int64_t r = 0; r < R; ++r) {
    const float* roi = rois + r * 5;
    const float xs = std::round(roi[1]) * s, ys = std::round(roi[2]) * s;
    const float xe = (std::round(roi[3]) + 1) * s, ye = (std::round(roi[4]) + 1) * s;
    const float bw = std::max(xe - xs, 0.1f) / static_cast<float>(pooled_width);
    const float bh = std::max(ye - ys, 0.1f) / static_cast<float>(pooled_height);
    bool empty = false;
    for (const float value : {roi[0], roi[1], roi[2], roi[3], roi[4], xs, xe, ys, ye, bw, bh}) {
      empty |= !std::isfinite(value);
    }
    const double batch = std::trunc(static_cast<double>(roi[0]));
    empty |= !(batch >= 0 && batch < static_cast<double>(N));
    for (int ph = 0; ph < pooled_height; ++ph)
      for (int pw = 0; pw < pooled_width; ++pw) {
        Bin bin = {r, ph, pw, 0, 0, 0, 0, 0};
        if (!empty) {
          bin.image = static_cast<int64_t>(batch);
          bin.hs = Clamped(std::floor(static_cast<float>(ph) * bh + ys), H);
          bin.he = Clamped(std::ceil(static_cast<float>(ph + 1) * bh + ys), H);
          bin.ws = Clamped(std::floor(static_cast<float>(pw) * bw + xs), W);
          bin.we = Clamped(std::ceil(static_cast<float>(pw + 1) * bw + xs), W);
        }
        visit(bin);
      }
  }
}

// Value is double in the reference, float in the plain loops.
template <typename Value>
void Forward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("group_size"), output_dim = a.Int("output_dim"), C = output_dim * G * G;
  const float* input = a.In<float>("input");
  Value* output = a.Out<Value>("output");
  int32_t* mapping = a.Out<int32_t>("mapping_channel");
  ForEachBin(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t ch = (c * G + b.ph) * G + b.pw;
      Value sum = 0;
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w) sum += input[((b.image * H + h) * W + w) * C + ch];
      const int64_t i = ((b.r * G + b.ph) * G + b.pw) * output_dim + c;
      output[i] = b.Area() == 0 ? 0 : sum / static_cast<Value>(b.Area());
      mapping[i] = static_cast<int32_t>(ch);
    }
  });
}

template <typename Value>
void Backward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("pooled_height"), output_dim = a.Int("output_dim"),
                C = output_dim * G * G;
  const float* top_grad = a.In<float>("top_grad");
  const int32_t* mapping = a.In<int32_t>("mapping_channel");
  Value* bottom_grad = a.Out<Value>("bottom_grad");
  std::fill_n(bottom_grad, a.Symbol("N") * H * W * C, Value{0});
  ForEachBin(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t i = ((b.r * G + b.ph) * G + b.pw) * output_dim + c;
      const int64_t ch = mapping[i];
      if (ch < 0 || ch >= C) continue;
      const Value scaled_grad = static_cast<Value>(top_grad[i]) / static_cast<Value>(b.Area());
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w)
          bottom_grad[((b.image * H + h) * W + w) * C + ch] += scaled_grad;
    }
  });
}

// Counts the input elements read by at least one bin, one addition per read, and one division per
// output.
Work ForwardWork(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t G = a.Int("group_size"), output_dim = a.Int("output_dim");
  TouchedLines input(a, "input");
  int64_t additions = 0;
  ForEachBin(a, [&](const Bin& b) {
    additions += b.Area() * output_dim;
    for (int64_t h = b.hs; h < b.he; ++h)
      for (int64_t w = b.ws; w < b.we; ++w)
        for (int64_t c = 0; c < output_dim; ++c)
          input.Touch((((b.image * H + h) * W + w) * output_dim + c) * G * G + b.ph * G + b.pw);
  });
  const int64_t divisions = a.Tensor("output").desc->ElementCount();
  return {input.TotalBytes(), static_cast<double>(additions + divisions)};
}

Work BackwardWork(const Arguments& a) {
  int64_t additions = 0;
  ForEachBin(a, [&](const Bin& b) { additions += b.Area() * a.Int("output_dim"); });
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

// Replaces one value of a RoI by NaN, Inf, a huge value, or an invalid batch index.
void MakeInvalid(float* roi, int64_t images, Random& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto n = static_cast<float>(images);
  const float batches[] = {kNan,      kInf, -kInf,    -1,   -0.5f, -1.5f, 0.9f,
                           n - 0.25f, n,    n + 0.5f, 3e9f, -3e9f, 1e30f};
  const float coordinates[] = {kNan, kInf, -kInf, 3e38f, -3e38f, 1e10f, -1e10f};
  const int64_t i = random.Below(5);
  roi[i] = i == 0 ? batches[random.Below(std::ssize(batches))]
                  : coordinates[random.Below(std::ssize(coordinates))];
}

void GenerateRois(const Case& test_case, const Arguments& a, Random& random) {
  const std::string& kind = test_case.Option("rois");
  const double s = a.Float("spatial_scale");
  float* roi = a.Out<float>("rois");
  for (int64_t r = 0; r < a.Symbol("R"); ++r, roi += 5) {
    const Ends x = MakeEnds(kind, static_cast<double>(a.Symbol("W")) / s, random);
    const Ends y = MakeEnds(kind, static_cast<double>(a.Symbol("H")) / s, random);
    const double batch = static_cast<double>(random.Below(std::max<int64_t>(a.Symbol("N"), 1)));
    int i = 0;
    for (const double value : {batch, x.first, y.first, x.last, y.last}) {
      roi[i++] = static_cast<float>(value);
    }
    if (kind == "bad" && random.Below(3) > 0) MakeInvalid(roi, a.Symbol("N"), random);
  }
}

// Clamps finite values: the sum of two FLT_MAX overflows in float but not in double.
void ClampToFinite(const Arguments& a, std::string_view tensor) {
  float* values = a.Out<float>(tensor);
  for (int64_t i = 0; i < a.Tensor(tensor).desc->ElementCount(); ++i) {
    if (std::isfinite(values[i])) values[i] = std::clamp(values[i], -1e30f, 1e30f);
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
     .reference = Forward<double>,
     .plain = Forward<float>,
     .work = ForwardWork},
    {.name = "psroipool_backward",
     .outputs = kBackwardOutputs,
     .options = kBackwardOptions,
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = GenerateBackward,
     .reference = Backward<double>,
     .plain = Backward<float>,
     .work = BackwardWork},
};

constexpr GetterTest kGetters[] = {{"psroipool_forward_workspace", CallForwardWorkspace}};

}  // namespace

extern const FamilyTest kFamilyTest;
constexpr FamilyTest kFamilyTest = {"psroipool", kOperators, kGetters};

}  // namespace mluop::psroipool
