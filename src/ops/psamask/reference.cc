// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of psamask, written from the contract. Uses no code of
// problem.h, so that errors there are found.
#include <cstring>
#include <string_view>

#include "mluops/extensions.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::psamask {
namespace {

using namespace mluop::testing;

// Visits every pair (index into x, index into y) that the operator copies. x is
// [N,H,W,h_mask*w_mask] and y [N,H,W,H*W], or in NCHW [N,h_mask*w_mask,H,W] and [N,H*W,H,W].
template <class Visit>
void ForEachPair(const Arguments& a, Visit visit) {
  const bool nchw = a.spec->name.find("nchw") != std::string_view::npos;
  const int64_t N = a.Symbol("N"), H = a.Symbol("H"), W = a.Symbol("W");
  const int64_t h_mask = a.Int("h_mask"), w_mask = a.Int("w_mask");
  const int64_t hh = (h_mask - 1) / 2, hw = (w_mask - 1) / 2;
  const bool collect = a.Int("psa_type") == 0;
  for (int64_t n = 0; n < N; ++n)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w)
        for (int64_t i = 0; i < h_mask; ++i)
          for (int64_t j = 0; j < w_mask; ++j) {
            const int64_t r = h + i - hh, s = w + j - hw;
            if (r < 0 || r >= H || s < 0 || s >= W) continue;
            const int64_t mask_pixel = h * W + w, map_pixel = r * W + s, element = i * w_mask + j;
            const int64_t at = collect ? mask_pixel : map_pixel,
                          channel = collect ? map_pixel : mask_pixel;
            if (nchw) {
              visit((n * h_mask * w_mask + element) * H * W + mask_pixel,
                    (n * H * W + channel) * H * W + at);
            } else {
              visit((n * H * W + mask_pixel) * h_mask * w_mask + element,
                    (n * H * W + at) * H * W + channel);
            }
          }
}

void ForwardReference(const Arguments& a) {
  std::memset(a.Out<void>("y"), 0, a.Tensor("y").ByteCount());
  ForEachPair(a, [&](int64_t mask, int64_t pixel) {
    CopyElement(a.In<void>("x"), mask, a.Out<void>("y"), pixel, a.Type());
  });
}

void BackwardReference(const Arguments& a) {
  std::memset(a.Out<void>("dx"), 0, a.Tensor("dx").ByteCount());
  ForEachPair(a, [&](int64_t mask, int64_t pixel) {
    CopyElement(a.In<void>("dy"), pixel, a.Out<void>("dx"), mask, a.Type());
  });
}

template <typename T>
void ForwardPlain(const Arguments& a) {
  const T* x = a.In<T>("x");
  T* y = a.Out<T>("y");
  std::memset(y, 0, a.Tensor("y").ByteCount());
  ForEachPair(a, [=](int64_t mask, int64_t pixel) { y[pixel] = x[mask]; });
}

template <typename T>
void BackwardPlain(const Arguments& a) {
  const T* dy = a.In<T>("dy");
  T* dx = a.Out<T>("dx");
  std::memset(dx, 0, a.Tensor("dx").ByteCount());
  ForEachPair(a, [=](int64_t mask, int64_t pixel) { dx[mask] = dy[pixel]; });
}

// Counts the input elements that are copied, and the whole output.
Work ForwardWork(const Arguments& a) {
  TouchedLines x(a, "x");
  ForEachPair(a, [&](int64_t mask, int64_t) { x.Touch(mask); });
  return {x.TotalBytes()};
}

Work BackwardWork(const Arguments& a) {
  TouchedLines dy(a, "dy");
  ForEachPair(a, [&](int64_t, int64_t pixel) { dy.Touch(pixel); });
  return {dy.TotalBytes()};
}

mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsamaskForward(handle, a.Int("psa_type"), Desc(a, "x"), a.In<void>("x"),
                             a.Int("h_mask"), a.Int("w_mask"), Desc(a, "y"), a.Out<void>("y"));
}

mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsamaskBackward(handle, a.Int("psa_type"), Desc(a, "dy"), a.In<void>("dy"),
                              a.Int("h_mask"), a.Int("w_mask"), Desc(a, "dx"), a.Out<void>("dx"));
}

mluOpStatus_t CallNchwForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsamaskNchwForward(handle, a.Int("psa_type"), Desc(a, "x"), a.In<void>("x"),
                                 a.Int("h_mask"), a.Int("w_mask"), Desc(a, "y"), a.Out<void>("y"));
}

mluOpStatus_t CallNchwBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsamaskNchwBackward(handle, a.Int("psa_type"), Desc(a, "dy"), a.In<void>("dy"),
                                  a.Int("h_mask"), a.Int("w_mask"), Desc(a, "dx"),
                                  a.Out<void>("dx"));
}

constexpr OutputRule kForwardOutputs[] = {{"y", Criterion::kExact}};
constexpr OutputRule kBackwardOutputs[] = {{"dx", Criterion::kExact}};

constexpr OperatorTest kOperators[] = {
    {.name = "psamask_forward",
     .outputs = kForwardOutputs,
     .options = {},
     .call = CallForward,
     .workspace_size = nullptr,
     .generate = nullptr,
     .reference = ForwardReference,
     .plain = ByType<ForwardPlain<float>, ForwardPlain<double>>,
     .work = ForwardWork},
    {.name = "psamask_backward",
     .outputs = kBackwardOutputs,
     .options = {},
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = nullptr,
     .reference = BackwardReference,
     .plain = ByType<BackwardPlain<float>, BackwardPlain<double>>,
     .work = BackwardWork},
    {.name = "psamask_nchw_forward",
     .outputs = kForwardOutputs,
     .options = {},
     .call = CallNchwForward,
     .workspace_size = nullptr,
     .generate = nullptr,
     .reference = ForwardReference,
     .plain = ByType<ForwardPlain<float>, ForwardPlain<double>>,
     .work = ForwardWork},
    {.name = "psamask_nchw_backward",
     .outputs = kBackwardOutputs,
     .options = {},
     .call = CallNchwBackward,
     .workspace_size = nullptr,
     .generate = nullptr,
     .reference = BackwardReference,
     .plain = ByType<BackwardPlain<float>, BackwardPlain<double>>,
     .work = BackwardWork},
};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"psamask", kOperators, {}};

}  // namespace mluop::psamask
