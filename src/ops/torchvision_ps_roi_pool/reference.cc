// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of torchvision_ps_roi_pool, written from the formula, and the
// RoIs of the cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "mluops/extensions.h"
#include "testing/element.h"
#include "testing/operator_test.h"
#include "testing/roi_cases.h"

namespace mluop::torchvision_ps_roi_pool {
namespace {

using namespace mluop::testing;

struct Bin {
  int64_t r, ph, pw;
  int64_t image, hs, he, ws, we;
  int64_t Area() const { return (he - hs) * (we - ws); }
};

// Returns the nearest integer, halves away from zero, clamped to [-2^31, 2^31].
int64_t Whole(long double scaled) {
  return std::llround(std::clamp<long double>(scaled, -2147483648.0, 2147483648.0));
}

int64_t Clipped(long double offset, int64_t start, int64_t size) {
  return std::clamp<int64_t>(static_cast<int64_t>(offset) + start, 0, size - 1);
}

// Visits every bin of every RoI, with empty bounds if the RoI is in no image. T is the type of
// rois, Real the type of the coordinates.
template <typename T, typename Real, class Visit>
void ForEachBin(const Arguments& a, Visit visit) {
  const int64_t N = a.Symbol("N"), H = a.Symbol("H"), W = a.Symbol("W"), R = a.Symbol("R");
  const int pooled_height = a.Int("pooled_height"), pooled_width = a.Int("pooled_width");
  const Real s = a.Float("spatial_scale");
  const T* rois = a.In<T>("rois");
  for (int64_t r = 0; r < R; ++r) {
    const T* roi = rois + r * 5;
    const Real x1 = roi[1] * s, y1 = roi[2] * s, x2 = roi[3] * s, y2 = roi[4] * s;
    const double batch = std::trunc(static_cast<double>(roi[0]));
    bool empty = H == 0 || W == 0 || !(batch >= 0 && batch < static_cast<double>(N));
    for (const Real value : {x1, y1, x2, y2}) empty |= !std::isfinite(static_cast<T>(value));
    Real bw = 0, bh = 0;
    if (!empty) {
      bw = static_cast<Real>(std::max<int64_t>(Whole(x2) - Whole(x1), 1)) /
           static_cast<Real>(pooled_width);
      bh = static_cast<Real>(std::max<int64_t>(Whole(y2) - Whole(y1), 1)) /
           static_cast<Real>(pooled_height);
    }
    for (int ph = 0; ph < pooled_height; ++ph)
      for (int pw = 0; pw < pooled_width; ++pw) {
        Bin bin = {r, ph, pw, 0, 0, 0, 0, 0};
        if (!empty) {
          bin.image = static_cast<int64_t>(batch);
          bin.hs = Clipped(std::floor(static_cast<Real>(ph) * bh), Whole(y1), H);
          bin.he = Clipped(std::ceil(static_cast<Real>(ph + 1) * bh), Whole(y1), H);
          bin.ws = Clipped(std::floor(static_cast<Real>(pw) * bw), Whole(x1), W);
          bin.we = Clipped(std::ceil(static_cast<Real>(pw + 1) * bw), Whole(x1), W);
        }
        visit(bin);
      }
  }
}

// In float the reference and the plain loops are the same: the order of the sum is part of the function.
// T: of the tensors. Real: of coordinates and sums.
template <typename T, typename Real>
void Forward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width");
  const T* input = a.In<T>("input");
  T* output = a.Out<T>("output");
  ForEachBin<T, Real>(a, [=](const Bin& b) {
    for (int64_t c = 0; c < output_dim; ++c) {
      const int64_t ch = (c * PH + b.ph) * PW + b.pw;
      Real sum = 0;
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w)
          sum += input[((b.image * output_dim * PH * PW + ch) * H + h) * W + w];
      output[((b.r * output_dim + c) * PH + b.ph) * PW + b.pw] =
          b.Area() == 0 ? T{0} : static_cast<T>(sum / static_cast<Real>(b.Area()));
    }
  });
}

// T: of the tensors. Real: of coordinates. Value: of sums. Out: of the output.
template <typename T, typename Real, typename Value, typename Out>
void Backward(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width"), C = output_dim * PH * PW;
  const T* grad_output = a.In<T>("grad_output");
  OutputSums<Value, Out> all(a, "grad_input");
  Value* grad_input = all.data();
  ForEachBin<T, Real>(a, [=](const Bin& b) {
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
    std::snprintf(text, sizeof(text), "element %" PRId64 " must be %.9g, got %.9g", i, b[i], e[i]);
    return text;
  }
  return "";
}

// Counts the pixels of the input that some bin reads, in the planes of that bin. The operations are
// one addition per pixel and one division per output element.
template <typename T>
Work ForwardWork(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), output_dim = a.Symbol("O");
  const int64_t PH = a.Int("pooled_height"), PW = a.Int("pooled_width");
  TouchedLines input(a, "input");
  int64_t additions = 0;
  ForEachBin<T, T>(a, [&](const Bin& b) {
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

template <typename T>
Work BackwardWork(const Arguments& a) {
  int64_t additions = 0;
  ForEachBin<T, T>(a, [&](const Bin& b) { additions += b.Area() * a.Symbol("O"); });
  const int64_t divisions = a.Tensor("grad_output").desc->ElementCount();
  return {AllBytes(a), static_cast<double>(additions + divisions)};
}

// "edge": of the map; some are inverted. "half": on .5 after scaling.
RoiEnds MakeEnds(const std::string& kind, double size, double scale, Random& random) {
  if (kind == "edge") {
    const double last = std::round(size * scale);
    const double places[] = {-1, 0, std::floor(last / 2), last - 2, last - 1, last, last + 1};
    const auto any = [&] { return places[random.Below(std::ssize(places))] / scale; };
    const double first = any();
    return {first, any()};
  }
  const double first = std::floor(random.Uniform(-0.5, 1) * size * scale) + 0.5;
  return {first / scale, (first + std::floor(random.Uniform(0, 0.7) * size * scale)) / scale};
}

void GenerateForward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, MakeEnds, random);
  // In float the reference adds in the operator's own order, so that overflow agrees.
  if (a.Type() == MLUOP_DTYPE_DOUBLE) ClampFinite(a, "input", 1e30);
}

void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, MakeEnds, random);
  ClampFinite(a, "grad_output", 1e30);
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

constexpr Option kOptions[] = {{"rois", kRoiKinds}};

constexpr OperatorTest kOperators[] = {
    {.name = "torchvision_ps_roi_pool_forward",
     .outputs = kForwardOutputs,
     .options = kOptions,
     .call = CallForward,
     .workspace_size = nullptr,
     .generate = GenerateForward,
     .reference = ByType<Forward<float, float>, Forward<double, long double>>,
     .plain = ByType<Forward<float, float>, Forward<double, double>>,
     .work = ByType<ForwardWork<float>, ForwardWork<double>>,
     .accept = AcceptForward},
    {.name = "torchvision_ps_roi_pool_backward",
     .outputs = kBackwardOutputs,
     .options = kOptions,
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = GenerateBackward,
     .reference = ByType<Backward<float, float, double, double>,
                         Backward<double, long double, long double, double>>,
     .plain =
         ByType<Backward<float, float, float, float>, Backward<double, double, double, double>>,
     .work = ByType<BackwardWork<float>, BackwardWork<double>>},
};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"torchvision_ps_roi_pool", kOperators, {}};

}  // namespace mluop::torchvision_ps_roi_pool
