// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of masked_conv2d, written from its definition, and the masks of
// test cases. Uses no code of problem.h, so that errors there are found.
#include <limits>
#include <vector>

#include "mluops/extensions.h"
#include "testing/case.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::masked_conv2d {
namespace {

using namespace mluop::testing;

struct Sizes {
  int64_t N, C, H, W, P, Q, O, kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;

  explicit Sizes(const Arguments& a)
      : N(a.Symbol("N")),
        C(a.Symbol("C")),
        H(a.Symbol("H")),
        W(a.Symbol("W")),
        P(a.Symbol("P")),
        Q(a.Symbol("Q")),
        O(a.Symbol("O")),
        kh(a.Int("kernel_h")),
        kw(a.Int("kernel_w")),
        stride_h(a.Int("stride_h")),
        stride_w(a.Int("stride_w")),
        pad_h(a.Int("pad_h")),
        pad_w(a.Int("pad_w")),
        dilation_h(a.Int("dilation_h")),
        dilation_w(a.Int("dilation_w")) {}
};

bool IsMasked(const Arguments& a, int64_t position) {
  return LoadValue(a.In<void>("mask"), a.Type(), position) > 0;
}

// Calls write(index, value) for each element of the output. A window element outside the features
// is 0. T: the tensors' type.
template <typename T, typename Sum, class Write>
void Loops(const Arguments& a, const Write& write) {
  const Sizes s(a);
  const T *features = a.In<T>("features"), *weights = a.In<T>("weight"), *bias = a.In<T>("bias");
  std::vector<Sum> window(static_cast<size_t>(s.C * s.kh * s.kw));
  for (int64_t n = 0; n < s.N; ++n)
    for (int64_t p = 0; p < s.P; ++p)
      for (int64_t q = 0; q < s.Q; ++q) {
        const bool masked = IsMasked(a, (n * s.P + p) * s.Q + q);
        size_t k = 0;
        for (int64_t c = 0; c < s.C; ++c)
          for (int64_t i = 0; i < s.kh; ++i)
            for (int64_t j = 0; j < s.kw; ++j) {
              const int64_t y = p * s.stride_h - s.pad_h + i * s.dilation_h;
              const int64_t x = q * s.stride_w - s.pad_w + j * s.dilation_w;
              const bool inside = y >= 0 && y < s.H && x >= 0 && x < s.W;
              const int64_t pixel = ((n * s.C + c) * s.H + y) * s.W + x;
              window[k++] = inside ? Sum{ValueOf(features[pixel])} : Sum{0};
            }
        for (int64_t o = 0; o < s.O; ++o) {
          Sum sum = 0;
          const T* const weight = weights + o * static_cast<int64_t>(window.size());
          for (size_t i = 0; masked && i < window.size(); ++i) {
            sum += window[i] * Sum{ValueOf(weight[i])};
          }
          if (masked) sum += Sum{ValueOf(bias[o])};
          write(((n * s.O + o) * s.P + p) * s.Q + q, sum);
        }
      }
}

template <typename T, typename Sum>
void Reference(const Arguments& a) {
  auto* const output = a.Out<double>("output");
  Loops<T, Sum>(a, [=](int64_t i, Sum value) { output[i] = static_cast<double>(value); });
}

template <typename T, typename Sum>
void Plain(const Arguments& a) {
  T* const output = a.Out<T>("output");
  Loops<T, Sum>(a, [=](int64_t i, Sum value) { Assign(value, output[i]); });
}

// A product and an addition per window element of a masked position.
Work ForwardWork(const Arguments& a) {
  const Sizes s(a);
  int64_t masked = 0;
  for (int64_t i = 0; i < s.N * s.P * s.Q; ++i) masked += IsMasked(a, i) ? 1 : 0;
  return {AllBytes(a), 2.0 * static_cast<double>(masked * s.O * s.C * s.kh * s.kw)};
}

constexpr std::string_view kMasks[] = {"quarter", "none", "all", "tenth", "half", "row", "values"};
constexpr Option kOptions[] = {{"masks", kMasks}};

// Values that are greater than 0 for a share of the positions. values: around 0, not finite.
void Generate(const Case& test_case, const Arguments& a, Random& random) {
  const Sizes s(a);
  const std::string& masks = test_case.Option("masks");
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr double kValues[] = {
      0.0, -0.0, 6e-8, -6e-8, 1, kInf, -kInf, -3, std::numeric_limits<double>::quiet_NaN()};
  for (int64_t i = 0; i < s.N * s.P * s.Q; ++i) {
    const int64_t percent = random.Below(100), row = i / s.Q % s.P;
    double value = percent < 26 ? 1 : 0;
    if (masks == "none") value = 0;
    if (masks == "all") value = 0.5;
    if (masks == "tenth") value = percent < 10 ? 1 : -1;
    if (masks == "half") value = percent < 50 ? 1 : 0;
    if (masks == "row") value = row == s.P / 2 ? 1 : 0;
    if (masks == "values") value = kValues[percent % std::ssize(kValues)];
    StoreValue(value, a.Type(), a.Out<void>("mask"), i);
  }
}

mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpMaskedConv2dForward(handle, a.Int("kernel_h"), a.Int("kernel_w"), a.Int("stride_h"),
                                  a.Int("stride_w"), a.Int("pad_h"), a.Int("pad_w"),
                                  a.Int("dilation_h"), a.Int("dilation_w"), Desc(a, "features"),
                                  a.In<void>("features"), Desc(a, "mask"), a.In<void>("mask"),
                                  Desc(a, "weight"), a.In<void>("weight"), Desc(a, "bias"),
                                  a.In<void>("bias"), Desc(a, "output"), a.Out<void>("output"));
}

constexpr OutputRule kOutputs[] = {{"output", Criterion::kDynamic}};

constexpr OperatorTest kOperators[] = {
    {.name = "masked_conv2d_forward",
     .outputs = kOutputs,
     .options = kOptions,
     .call = CallForward,
     .workspace_size = nullptr,
     .generate = Generate,
     .reference =
         ByType<Reference<float, double>, Reference<Half, double>, Reference<double, long double>>,
     .plain = ByType<Plain<float, float>, Plain<Half, float>, Plain<double, double>>,
     .work = ForwardWork},
};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"masked_conv2d", kOperators, {}};

}  // namespace mluop::masked_conv2d
