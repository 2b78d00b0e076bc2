// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of torchvision_ps_roi_pool, written from the formula, and the
// RoIs of the cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "mluops/extensions.h"
#include "testing/case.h"
#include "testing/operator_test.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using namespace mluop::testing;

struct Bin {
  int64_t r, ph, pw;
  int64_t image, hs, he, ws, we;
  int64_t Area() const { return (he - hs) * (we - ws); }
};

// The nearest integer, halves away from zero; not beyond 2^31.
int64_t Whole(float scaled) {
  return std::llround(std::clamp<double>(scaled, -2147483648.0, 2147483648.0));
}

int64_t Clipped(float offset, int64_t start, int64_t size) {
  return std::clamp<int64_t>(static_cast<int64_t>(offset) + start, 0, size - 1);
}

// Visits every bin of every roi, with empty bounds where the roi is on no image.
template <class Visit>
void ForEachBin(const Arguments& a, Visit visit) {
  const int64_t N = a.Symbol("N"), H = a.Symbol("H"), W = a.Symbol("W"), R = a.Symbol("R");
  const int pooled_height = a.Int("pooled_height"), pooled_width = a.Int("pooled_width");
  const float s = a.Float("spatial_scale");
  const float* rois = a.In<float>("rois");
  for (int64_t r = 0; r < R; ++r) {
    const float* roi = rois + r * 5;
    const float x1 = roi[1] * s, y1 = roi[2] * s, x2 = roi[3] * s, y2 = roi[4] * s;
    const double batch = std::trunc(static_cast<double>(roi[0]));
    bool empty = H == 0 || W == 0 || !(batch >= 0 && batch < static_cast<double>(N));
    for (const float value : {x1, y1, x2, y2}) empty |= !std::isfinite(value);
    float bw = 0, bh = 0;
    if (!empty) {
      bw = static_cast<float>(std::max<int64_t>(Whole(x2) - Whole(x1), 1)) /
           static_cast<float>(pooled_width);
      bh = static_cast<float>(std::max<int64_t>(Whole(y2) - Whole(y1), 1)) /
           static_cast<float>(pooled_height);
    }
    for (int ph = 0; ph < pooled_height; ++ph)
      for (int pw = 0; pw < pooled_width; ++pw) {
        Bin bin = {r, ph, pw, 0, 0, 0, 0, 0};
        if (!empty) {
          bin.image = static_cast<int64_t>(batch);
          bin.hs = Clipped(std::floor(static_cast<float>(ph) * bh), Whole(y1), H);
          bin.he = Clipped(std::ceil(static_cast<float>(ph + 1) * bh), Whole(y1), H);
          bin.ws = Clipped(std::floor(static_cast<float>(pw) * bw), Whole(x1), W);
          bin.we = Clipped(std::ceil(static_cast<float>(pw + 1) * bw), Whole(x1), W);
        }
        visit(bin);
      }
  }
}

// The reference and the plain loops are the same: the order of the sum is part of the function.
void Forward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width");
  const float* input = a.In<float>("input");
  float* output = a.Out<float>("output");
  ForEachBin(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t ch = (c * PH + b.ph) * PW + b.pw;
      float sum = 0;
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w)
          sum += input[((b.image * output_dim * PH * PW + ch) * H + h) * W + w];
      output[((b.r * output_dim + c) * PH + b.ph) * PW + b.pw] =
          b.Area() == 0 ? 0 : sum / static_cast<float>(b.Area());
    }
  });
}

// Value is double in the reference, float in the plain loops.
template <typename Value>
void Backward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width"), C = output_dim * PH * PW;
  const float* grad_output = a.In<float>("grad_output");
  Value* grad_input = a.Out<Value>("grad_input");
  std::fill_n(grad_input, a.Symbol("N") * C * H * W, Value{0});
  ForEachBin(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t ch = (c * PH + b.ph) * PW + b.pw;
      const Value scaled_grad =
          static_cast<Value>(grad_output[b.r * C + ch]) / static_cast<Value>(b.Area());
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w)
          grad_input[((b.image * C + ch) * H + h) * W + w] += scaled_grad;
    }
  });
}

// Compares bitwise, except that any NaN equals any NaN: x86 keeps the payload of either operand.
std::string AcceptForward(const Arguments& a, std::string_view output, const void* baseline) {
  const float* e = a.In<float>(output);
  const float* b = static_cast<const float*>(baseline);
  for (int64_t i = 0; i < a.Tensor(output).desc->ElementCount(); ++i) {
    if (std::bit_cast<uint32_t>(e[i]) == std::bit_cast<uint32_t>(b[i])) continue;
    if (std::isnan(e[i]) && std::isnan(b[i])) continue;
    char text[100];
    std::snprintf(text, sizeof(text), "element %lld must be %.9g, got %.9g",
                  static_cast<long long>(i), b[i], e[i]);
    return text;
  }
  return "";
}

// Of the input, the pixels that some bin reads, in the planes of that bin; an addition each, and the
// division.
Work ForwardWork(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width");
  TouchedLines input(a, "input");
  int64_t additions = 0;
  ForEachBin(a, [&](const Bin& b) {
    additions += b.Area() * output_dim;
    if (b.we == b.ws) return;
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t plane = ((b.image * output_dim + c) * PH + b.ph) * PW + b.pw;
      for (int64_t h = b.hs; h < b.he; ++h) input.Touch((plane * H + h) * W + b.ws, b.we - b.ws);
    }
  });
  const int64_t divisions = a.Tensor("output").desc->ElementCount();
  return {input.TotalBytes(), static_cast<double>(additions + divisions)};
}

Work BackwardWork(const Arguments& a) {
  int64_t additions = 0;
  ForEachBin(a, [&](const Bin& b) { additions += b.Area() * a.Symbol("O"); });
  const int64_t divisions = a.Tensor("grad_output").desc->ElementCount();
  return {AllBytes(a), static_cast<double>(additions + divisions)};
}

struct Ends {
  double first, last;
};

// One axis of a roi, in the coordinates of an image `size` long.
Ends MakeEnds(const std::string& kind, double size, double scale, Random& random) {
  if (kind == "outside") {
    const double first = random.Uniform(-1.5, 1.5) * size;
    return {first, first + random.Uniform(0, 1.5) * size};
  }
  if (kind == "edge") {  // of the map; some are inverted
    const double last = std::round(size * scale);
    const double places[] = {-1, 0, std::floor(last / 2), last - 2, last - 1, last, last + 1};
    const auto any = [&] { return places[random.Below(std::ssize(places))] / scale; };
    const double first = any();
    return {first, any()};
  }
  if (kind == "half") {  // halves once they are scaled
    const double first = std::floor(random.Uniform(-0.5, 1) * size * scale) + 0.5;
    return {first / scale, (first + std::floor(random.Uniform(0, 0.7) * size * scale)) / scale};
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

// Replaces one value of a RoI by an invalid one.
void MakeInvalid(float* roi, int64_t images, Random& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto n = static_cast<float>(images);
  const float batches[] = {kNan,      kInf, -kInf,    -1,   -0.5f, -1.5f, 0.9f,
                           n - 0.25f, n,    n + 0.5f, 3e9f, -3e9f, 1e30f};
  const float coordinates[] = {kNan,   kInf,  -kInf,  3e38f, -3e38f, 1e30f,
                               -1e30f, 1e10f, -1e10f, 3e9f,  -3e9f,  2e9f};
  const int64_t i = random.Below(5);
  roi[i] = i == 0 ? batches[random.Below(std::ssize(batches))]
                  : coordinates[random.Below(std::ssize(coordinates))];
}

void GenerateRois(const Case& test_case, const Arguments& a, Random& random) {
  const std::string& kind = test_case.Option("rois");
  const double s = a.Float("spatial_scale");
  float* roi = a.Out<float>("rois");
  for (int64_t r = 0; r < a.Symbol("R"); ++r, roi += 5) {
    const Ends x = MakeEnds(kind, static_cast<double>(a.Symbol("W")) / s, s, random);
    const Ends y = MakeEnds(kind, static_cast<double>(a.Symbol("H")) / s, s, random);
    const double batch = static_cast<double>(random.Below(std::max<int64_t>(a.Symbol("N"), 1)));
    int i = 0;
    for (const double value : {batch, x.first, y.first, x.last, y.last}) {
      roi[i++] = static_cast<float>(value);
    }
    if (kind == "bad" && random.Below(3) > 0) MakeInvalid(roi, a.Symbol("N"), random);
  }
}

// Clamps finite gradients: the sum of two FLT_MAX overflows in float but not in double.
void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, random);
  float* values = a.Out<float>("grad_output");
  for (int64_t i = 0; i < a.Tensor("grad_output").desc->ElementCount(); ++i) {
    if (std::isfinite(values[i])) values[i] = std::clamp(values[i], -1e30f, 1e30f);
  }
}

mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpTorchvisionPsRoiPoolForward(handle, a.Int("pooled_height"), a.Int("pooled_width"),
                                          a.Float("spatial_scale"), Desc(a, "input"),
                                          a.In<void>("input"), Desc(a, "rois"), a.In<void>("rois"),
                                          Desc(a, "output"), a.Out<void>("output"));
}

mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpTorchvisionPsRoiPoolBackward(
      handle, a.Int("pooled_height"), a.Int("pooled_width"), a.Float("spatial_scale"),
      Desc(a, "grad_output"), a.In<void>("grad_output"), Desc(a, "rois"), a.In<void>("rois"),
      Desc(a, "grad_input"), a.Out<void>("grad_input"));
}

constexpr OutputRule kForwardOutputs[] = {{"output", Criterion::kFamily}};
constexpr OutputRule kBackwardOutputs[] = {{"grad_input", Criterion::kFixed, 1e-6}};

constexpr std::string_view kRoiKinds[] = {"inside", "outside", "edge", "half", "point", "bad"};
constexpr Option kOptions[] = {{"rois", kRoiKinds}};

constexpr OperatorTest kOperators[] = {
    {.name = "torchvision_ps_roi_pool_forward",
     .outputs = kForwardOutputs,
     .options = kOptions,
     .call = CallForward,
     .workspace_size = nullptr,
     .generate = GenerateRois,
     .reference = Forward,
     .plain = Forward,
     .work = ForwardWork,
     .accept = AcceptForward},
    {.name = "torchvision_ps_roi_pool_backward",
     .outputs = kBackwardOutputs,
     .options = kOptions,
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = GenerateBackward,
     .reference = Backward<double>,
     .plain = Backward<float>,
     .work = BackwardWork},
};

}  // namespace

extern const FamilyTest kFamilyTest;
constexpr FamilyTest kFamilyTest = {"torchvision_ps_roi_pool", kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
