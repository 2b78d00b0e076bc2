// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of border_align, written from the contract. Uses no code of
// problem.h, so that errors there are found.
#include <algorithm>
#include <cmath>

#include "mluops/extensions.h"
#include "ops/border_align/inputs.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::border_align {
namespace {

using namespace mluop::testing;

// Sizes, and indices of elements: NHWC, or NCHW in the operators with that name. argmax_idx is NHWC.
struct Sizes {
  int64_t N, H, W, C, K, P;
  bool nchw;

  explicit Sizes(const Arguments& a)
      : N(a.Symbol("N")),
        H(a.Symbol("H")),
        W(a.Symbol("W")),
        C(a.Symbol("C")),
        K(a.Symbol("K")),
        P(a.Int("pool_size")),
        nchw(a.spec->name.find("nchw") != std::string_view::npos) {}

  int64_t Pixel(int64_t n, int64_t y, int64_t x, int64_t b, int64_t c) const {
    const int64_t channel = b * C + c;
    return nchw ? ((n * 4 * C + channel) * H + y) * W + x : ((n * H + y) * W + x) * 4 * C + channel;
  }
  int64_t Output(int64_t n, int64_t k, int64_t b, int64_t c) const {
    return nchw ? ((n * C + c) * K + k) * 4 + b : Argmax(n, k, b, c);
  }
  int64_t Argmax(int64_t n, int64_t k, int64_t b, int64_t c) const {
    return ((n * K + k) * 4 + b) * C + c;
  }
};

// Visits every (n, k, b, c).
template <class Visit>
void ForEachOutput(const Sizes& s, Visit visit) {
  for (int64_t n = 0; n < s.N; ++n)
    for (int64_t k = 0; k < s.K; ++k)
      for (int64_t b = 0; b < 4; ++b)
        for (int64_t c = 0; c < s.C; ++c) visit(n, k, b, c);
}

// At is the type of coordinates: float. In calls of type double it is long double in the reference,
// double in the plain loops.
template <typename At>
struct Walk {
  At x, y, dx, dy;

  void Step() {
    x += dx;
    y += dy;
  }
};

template <typename At>
Walk<At> StartOf(const Arguments& a, const Sizes& s, int64_t n, int64_t k, int64_t b) {
  const auto coordinate = [&](int64_t i) {
    return static_cast<At>(LoadValue(a.In<void>("boxes"), a.Type(), (n * s.K + k) * 4 + i));
  };
  const At x1 = coordinate(0), y1 = coordinate(1), x2 = coordinate(2), y2 = coordinate(3);
  const auto P = static_cast<At>(s.P);
  if (b == 0) return {x1, y1, (x2 - x1) / P, 0};
  if (b == 1) return {x1, y1, 0, (y2 - y1) / P};
  if (b == 2) return {x2, y2, -(x2 - x1) / P, 0};
  return {x2, y2, 0, -(y2 - y1) / P};
}

// Visits the four neighbours of a sample as visit(y, x, weight), none if it is out of range.
template <typename Real, typename At, class Visit>
void ForEachNeighbour(const Sizes& s, At y, At x, Visit visit) {
  if (!(y >= -1 && y <= static_cast<At>(s.H) && x >= -1 && x <= static_cast<At>(s.W))) return;
  if (y <= 0) y = 0;
  if (x <= 0) x = 0;
  auto y_low = static_cast<int64_t>(y), x_low = static_cast<int64_t>(x);
  int64_t y_high = y_low + 1, x_high = x_low + 1;
  if (y_low >= s.H - 1) {
    y_low = y_high = s.H - 1;
    y = static_cast<At>(y_low);
  }
  if (x_low >= s.W - 1) {
    x_low = x_high = s.W - 1;
    x = static_cast<At>(x_low);
  }
  const Real ly = Real{y} - static_cast<Real>(y_low), lx = Real{x} - static_cast<Real>(x_low);
  const Real hy = 1 - ly, hx = 1 - lx;
  visit(y_low, x_low, hy * hx);
  visit(y_low, x_high, hy * lx);
  visit(y_high, x_low, ly * hx);
  visit(y_high, x_high, ly * lx);
}

// The value at a walk's position; read(index) gives an element of input.
template <typename Real, typename At, class Read>
Real Sample(const Sizes& s, const Walk<At>& at, int64_t n, int64_t b, int64_t c, Read read) {
  Real value = 0;
  ForEachNeighbour<Real>(s, at.y, at.x, [&](int64_t y, int64_t x, Real weight) {
    value += weight * read(s.Pixel(n, y, x, b, c));
  });
  return value;
}

template <typename Real, typename At, class Read, class Write>
void ForwardLoops(const Arguments& a, Read read, Write write) {
  const Sizes s(a);
  int32_t* argmax = a.Out<int32_t>("argmax_idx");
  ForEachOutput(s, [&](int64_t n, int64_t k, int64_t b, int64_t c) {
    Walk<At> walk = StartOf<At>(a, s, n, k, b);
    Real best = 0;
    int64_t index = 0;
    for (int64_t i = 0; i <= s.P; ++i, walk.Step()) {
      const Real value = Sample<Real>(s, walk, n, b, c, read);
      if (i > 0 && !(value > best)) continue;
      best = value;
      index = i;
    }
    write(s.Output(n, k, b, c), best);
    argmax[s.Argmax(n, k, b, c)] = static_cast<int32_t>(index);
  });
}

template <typename Real, typename At, class Read, class Add>
void BackwardLoops(const Arguments& a, Read read, Add add) {
  const Sizes s(a);
  const int32_t* argmax = a.In<int32_t>("argmax_idx");
  ForEachOutput(s, [&](int64_t n, int64_t k, int64_t b, int64_t c) {
    const int64_t index = argmax[s.Argmax(n, k, b, c)];
    if (index < 0 || index > s.P) return;
    Walk<At> walk = StartOf<At>(a, s, n, k, b);
    for (int64_t i = 0; i < index; ++i) walk.Step();
    ForEachNeighbour<Real>(s, walk.y, walk.x, [&](int64_t y, int64_t x, Real weight) {
      add(s.Pixel(n, y, x, b, c), weight * read(s.Output(n, k, b, c)));
    });
  });
}

// Real: of values and sums.
template <typename Real, typename At>
void ForwardReference(const Arguments& a) {
  const void* input = a.In<void>("input");
  double* output = a.Out<double>("output");
  const auto dtype = a.Type();
  ForwardLoops<Real, At>(
      a, [=](int64_t i) { return LoadValue(input, dtype, i); },
      [=](int64_t i, Real value) { output[i] = static_cast<double>(value); });
}

template <typename Real, typename At>
void BackwardReference(const Arguments& a) {
  const void* gradient = a.In<void>("grad_output");
  OutputSums<Real, double> all(a, "grad_input");
  Real* sums = all.data();
  const auto dtype = a.Type();
  BackwardLoops<Real, At>(
      a, [=](int64_t i) { return LoadValue(gradient, dtype, i); },
      [=](int64_t i, Real value) { sums[i] += value; });
}

// Real: of coordinates, values and sums.
template <typename T, typename Real>
void ForwardPlain(const Arguments& a) {
  const T* input = a.In<T>("input");
  T* output = a.Out<T>("output");
  ForwardLoops<Real, Real>(
      a, [=](int64_t i) { return ValueOf(input[i]); },
      [=](int64_t i, Real value) { Assign(value, output[i]); });
}

template <typename T, typename Real>
void BackwardPlain(const Arguments& a) {
  const T* gradient = a.In<T>("grad_output");
  OutputSums<Real, T> all(a, "grad_input");
  Real* sums = all.data();
  BackwardLoops<Real, Real>(
      a, [=](int64_t i) { return ValueOf(gradient[i]); },
      [=](int64_t i, Real value) { sums[i] += value; });
}

// A sample's value, and the magnitude of the largest of its neighbours.
template <typename At>
struct SampleRange {
  long double value = 0;
  At largest = 0;
};

template <typename At>
SampleRange<At> FindRange(const Arguments& a, const Sizes& s, const Walk<At>& at, int64_t n,
                          int64_t b, int64_t c) {
  SampleRange<At> range;
  ForEachNeighbour<long double>(s, at.y, at.x, [&](int64_t y, int64_t x, long double weight) {
    const double feature = LoadValue(a.In<void>("input"), a.Type(), s.Pixel(n, y, x, b, c));
    range.value += weight * feature;
    range.largest = std::max(range.largest, static_cast<At>(std::abs(feature)));
  });
  return range;
}

// Accepts an argmax that differs from the baseline if the sample it names is within 4 ulp of the
// maximum. The ulp is that of At of the largest of its neighbours. Infinite and NaN samples must be
// equal.
template <typename At>
std::string AcceptArgmaxOf(const Arguments& a, const void* baseline) {
  const Sizes s(a);
  const int32_t* argmax = a.Out<int32_t>("argmax_idx");
  const auto* expected = static_cast<const int32_t*>(baseline);
  std::string error;
  ForEachOutput(s, [&](int64_t n, int64_t k, int64_t b, int64_t c) {
    const int64_t i = s.Argmax(n, k, b, c);
    if (argmax[i] == expected[i] || !error.empty()) return;
    error = "[" + std::to_string(i) + "] must be " + std::to_string(expected[i]) + ", got " +
            std::to_string(argmax[i]);
    if (argmax[i] < 0 || argmax[i] > s.P) return;
    const auto range = [&](int64_t index) {
      Walk<At> walk = StartOf<At>(a, s, n, k, b);
      for (int64_t step = 0; step < index; ++step) walk.Step();
      return FindRange(a, s, walk, n, b, c);
    };
    const SampleRange<At> named = range(argmax[i]);
    const At ulp = std::nextafter(named.largest, static_cast<At>(INFINITY)) - named.largest;
    const long double distance = std::abs(range(expected[i]).value - named.value);
    if (distance <= 4 * ulp) {
      error.clear();
    } else {
      error += ", which is " + std::to_string(distance / ulp) + " ulp below the maximum";
    }
  });
  return error;
}

std::string AcceptArgmax(const Arguments& a, std::string_view, const void* baseline) {
  return a.Type() == MLUOP_DTYPE_DOUBLE ? AcceptArgmaxOf<double>(a, baseline)
                                        : AcceptArgmaxOf<float>(a, baseline);
}

// Counts the blocks of C channels of the input that some sample reads. A sample is four products,
// three sums and a comparison.
template <typename At>
Work ForwardWork(const Arguments& a) {
  const Sizes s(a);
  TouchedLines input(a, "input");
  Sizes blocks = s;
  blocks.C = 1;
  int64_t samples = 0;
  ForEachOutput(blocks, [&](int64_t n, int64_t k, int64_t b, int64_t) {
    Walk<At> walk = StartOf<At>(a, s, n, k, b);
    for (int64_t i = 0; i <= s.P; ++i, walk.Step(), ++samples) {
      ForEachNeighbour<At>(s, walk.y, walk.x, [&](int64_t y, int64_t x, At) {
        if (!s.nchw) return input.Touch(s.Pixel(n, y, x, b, 0), s.C);
        for (int64_t c = 0; c < s.C; ++c) input.Touch(s.Pixel(n, y, x, b, c));
      });
    }
  });
  return {input.TotalBytes(), static_cast<double>(samples * s.C * 8)};
}

// Every gradient is added to four neighbours, by weight.
Work BackwardWork(const Arguments& a) {
  return {AllBytes(a), static_cast<double>(a.Tensor("grad_output").desc->ElementCount() * 8)};
}

template <auto kFunction>
mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, Desc(a, "input"), a.In<void>("input"), Desc(a, "boxes"),
                   a.In<void>("boxes"), a.Int("pool_size"), Desc(a, "output"),
                   a.Out<void>("output"), Desc(a, "argmax_idx"), a.Out<void>("argmax_idx"));
}

template <auto kFunction>
mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return kFunction(handle, Desc(a, "grad_output"), a.In<void>("grad_output"), Desc(a, "boxes"),
                   a.In<void>("boxes"), Desc(a, "argmax_idx"), a.In<void>("argmax_idx"),
                   a.Int("pool_size"), Desc(a, "grad_input"), a.Out<void>("grad_input"));
}

constexpr OutputRule kForwardOutputs[] = {{"output", Criterion::kDynamic},
                                          {"argmax_idx", Criterion::kFamily}};
constexpr OutputRule kBackwardOutputs[] = {{"grad_input", Criterion::kDynamic}};

constexpr OperatorTest ForwardTest(std::string_view name,
                                   mluOpStatus_t (*call)(mluOpHandle_t, const Arguments&)) {
  return {.name = name,
          .outputs = kForwardOutputs,
          .options = kForwardOptions,
          .call = call,
          .workspace_size = nullptr,
          .generate = GenerateForward,
          .reference =
              ByType<ForwardReference<double, float>, ForwardReference<long double, long double>>,
          .plain = ByType<ForwardPlain<float, float>, ForwardPlain<Half, float>,
                          ForwardPlain<double, double>>,
          .work = ByType<ForwardWork<float>, ForwardWork<double>>,
          .accept = AcceptArgmax};
}

constexpr OperatorTest BackwardTest(std::string_view name,
                                    mluOpStatus_t (*call)(mluOpHandle_t, const Arguments&)) {
  return {.name = name,
          .outputs = kBackwardOutputs,
          .options = kBackwardOptions,
          .call = call,
          .workspace_size = nullptr,
          .generate = GenerateBackward,
          .reference =
              ByType<BackwardReference<double, float>, BackwardReference<long double, long double>>,
          .plain = ByType<BackwardPlain<float, float>, BackwardPlain<Half, float>,
                          BackwardPlain<double, double>>,
          .work = BackwardWork};
}

constexpr OperatorTest kOperators[] = {
    ForwardTest("border_align_forward", CallForward<mluOpBorderAlignForward>),
    BackwardTest("border_align_backward", CallBackward<mluOpBorderAlignBackward>),
    ForwardTest("border_align_nchw_forward", CallForward<mluOpBorderAlignNchwForward>),
    BackwardTest("border_align_nchw_backward", CallBackward<mluOpBorderAlignNchwBackward>),
};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"border_align", kOperators, {}};

}  // namespace mluop::border_align
