// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of psroipool, written from the contract, and the inputs of the
// cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <cmath>

#include "mluops/extensions.h"
#include "testing/element.h"
#include "testing/operator_test.h"
#include "testing/roi_cases.h"

namespace mluop::psroipool {
namespace {

using namespace mluop::testing;

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

struct Bin {
  int64_t r, ph, pw;
  int64_t image, hs, he, ws, we;
  int64_t Area() const { return (he - hs) * (we - ws); }
};

int64_t Clamped(long double whole, int64_t size) {
  return static_cast<int64_t>(std::clamp<long double>(whole, 0, static_cast<long double>(size)));
}

// Visits every bin of every RoI, with empty bounds if the RoI is empty. T is the type of rois, Real
// the type of the coordinates.
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
  const Indices at(a);
  const T* input = a.In<T>("input");
  Out* output = a.Out<Out>("output");
  int32_t* mapping = a.Out<int32_t>("mapping_channel");
  ForEachBin<T, Real>(a, [=](const Bin& b) {
    for (int64_t c = 0; c < at.output_dim; ++c) {
      const int64_t ch = (c * at.G + b.ph) * at.G + b.pw;
      Value sum = 0;
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w) sum += input[at.Map(b.image, h, w, ch)];
      const int64_t i = at.Pooled(b.r, b.ph, b.pw, c);
      output[i] = static_cast<Out>(b.Area() == 0 ? 0 : sum / static_cast<Value>(b.Area()));
      mapping[i] = static_cast<int32_t>(ch);
    }
  });
}

template <typename T, typename Real, typename Value, typename Out>
void Backward(const Arguments& a) {
  const Indices at(a);
  const T* top_grad = a.In<T>("top_grad");
  const int32_t* mapping = a.In<int32_t>("mapping_channel");
  OutputSums<Value, Out> all(a, "bottom_grad");
  Value* sums = all.data();
  ForEachBin<T, Real>(a, [=](const Bin& b) {
    for (int64_t c = 0; c < at.output_dim; ++c) {
      const int64_t i = at.Pooled(b.r, b.ph, b.pw, c);
      const int64_t ch = mapping[i];
      if (ch < 0 || ch >= at.C()) continue;
      const Value scaled_grad = static_cast<Value>(top_grad[i]) / static_cast<Value>(b.Area());
      for (int64_t h = b.hs; h < b.he; ++h)
        for (int64_t w = b.ws; w < b.we; ++w) sums[at.Map(b.image, h, w, ch)] += scaled_grad;
    }
  });
}

// Counts the pixels of the input that some bin reads, in the channels of that bin. The operations
// are one addition per pixel and one division per output element.
template <typename T>
Work ForwardWork(const Arguments& a) {
  const Indices at(a);
  TouchedLines input(a, "input");
  int64_t additions = 0;
  ForEachBin<T, T>(a, [&](const Bin& b) {
    additions += b.Area() * at.output_dim;
    for (int64_t h = b.hs; h < b.he; ++h)
      for (int64_t w = b.ws; w < b.we; ++w)
        for (int64_t c = 0; c < at.output_dim; ++c)
          input.Touch(at.Map(b.image, h, w, (c * at.G + b.ph) * at.G + b.pw));
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

// "edge": of the image; some are inverted. "half": on .5 before scaling.
RoiEnds MakeEnds(const std::string& kind, double size, double, Random& random) {
  if (kind == "edge") {
    const double places[] = {-1, 0, std::floor(size / 2), size - 1, size, size + 1};
    const auto any = [&] { return places[random.Below(std::ssize(places))]; };
    const double first = any();
    return {first, any()};
  }
  const double first = std::floor(random.Uniform(-0.5, 1) * size) + 0.5;
  return {first, first + std::floor(random.Uniform(0, 0.7) * size)};
}

void GenerateForward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, MakeEnds, random);
  ClampFinite(a, "input", 1e30);
}

// "wild": a third as forward has it, a third in any channel, a third outside. "last": forward's
// mapping except for the last element; it detects checks that do not read all elements.
void GenerateBackward(const Case& test_case, const Arguments& a, Random& random) {
  GenerateRois(test_case, a, MakeEnds, random);
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

template <auto kFunction>
mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, a.Int("pooled_height"), a.Int("pooled_width"), a.Float("spatial_scale"),
                   a.Int("group_size"), a.Int("output_dim"), Desc(a, "input"), a.In<void>("input"),
                   Desc(a, "rois"), a.In<void>("rois"), a.workspace.data, a.workspace.size,
                   Desc(a, "output"), a.Out<void>("output"), Desc(a, "mapping_channel"),
                   a.Out<void>("mapping_channel"));
}

template <auto kFunction>
mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, a.Int("pooled_height"), a.Int("pooled_width"), a.Float("spatial_scale"),
                   a.Int("output_dim"), Desc(a, "top_grad"), a.In<void>("top_grad"),
                   Desc(a, "rois"), a.In<void>("rois"), Desc(a, "mapping_channel"),
                   a.In<void>("mapping_channel"), Desc(a, "bottom_grad"),
                   a.Out<void>("bottom_grad"));
}

mluOpStatus_t CallForwardWorkspace(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return mluOpGetPsRoiPoolForwardWorkspaceSize(handle, a.Int("pooled_height"),
                                               a.Int("pooled_width"), a.Int("output_dim"),
                                               Desc(a, "input"), Desc(a, "rois"), size);
}

constexpr OutputRule kForwardOutputs[] = {{"output", Criterion::kFixed, 1e-6},
                                          {"mapping_channel", Criterion::kExact}};
constexpr OutputRule kBackwardOutputs[] = {{"bottom_grad", Criterion::kFixed, 1e-6}};

constexpr std::string_view kMappings[] = {"forward", "wild", "last"};
constexpr Option kForwardOptions[] = {{"rois", kRoiKinds}};
constexpr Option kBackwardOptions[] = {{"rois", kRoiKinds}, {"mapping", kMappings}};

using CallFunction = mluOpStatus_t (*)(mluOpHandle_t, const Arguments&);
using GetterFunction = mluOpStatus_t (*)(mluOpHandle_t, const Arguments&, size_t*);

constexpr OperatorTest ForwardTest(std::string_view name, CallFunction call,
                                   GetterFunction workspace_size) {
  return {
      .name = name,
      .outputs = kForwardOutputs,
      .options = kForwardOptions,
      .call = call,
      .workspace_size = workspace_size,
      .generate = GenerateForward,
      .reference = ByType<Forward<float, float, double, double>,
                          Forward<double, long double, long double, double>>,
      .plain = ByType<Forward<float, float, float, float>, Forward<double, double, double, double>>,
      .work = ByType<ForwardWork<float>, ForwardWork<double>>,
      .workspace_without_getter = workspace_size == nullptr};
}

constexpr OperatorTest BackwardTest(std::string_view name, CallFunction call) {
  return {
      .name = name,
      .outputs = kBackwardOutputs,
      .options = kBackwardOptions,
      .call = call,
      .workspace_size = nullptr,
      .generate = GenerateBackward,
      .reference = ByType<Backward<float, float, double, double>,
                          Backward<double, long double, long double, double>>,
      .plain =
          ByType<Backward<float, float, float, float>, Backward<double, double, double, double>>,
      .work = ByType<BackwardWork<float>, BackwardWork<double>>};
}

// In C++ the name alone is ambiguous: mlu_op.h has a form without workspace too.
constexpr decltype(&mluOpPsRoiPoolNchwForward) kNhwcForward = mluOpPsRoiPoolForward;

constexpr OperatorTest kOperators[] = {
    ForwardTest("psroipool_forward", CallForward<kNhwcForward>, CallForwardWorkspace),
    BackwardTest("psroipool_backward", CallBackward<mluOpPsRoiPoolBackward>),
    ForwardTest("psroipool_nchw_forward", CallForward<mluOpPsRoiPoolNchwForward>, nullptr),
    BackwardTest("psroipool_nchw_backward", CallBackward<mluOpPsRoiPoolNchwBackward>),
};

constexpr GetterTest kGetters[] = {{"psroipool_forward_workspace", CallForwardWorkspace}};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"psroipool", kOperators, kGetters};

}  // namespace mluop::psroipool
