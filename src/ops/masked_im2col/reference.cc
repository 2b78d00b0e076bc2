// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of masked_im2col and masked_col2im, written from the contract,
// and the masks of test cases. Uses no code of problem.h, so that errors there are found.
#include <algorithm>
#include <cstring>
#include <vector>

#include "mluops/extensions.h"
#include "testing/case.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::masked_im2col {
namespace {

using namespace mluop::testing;

// Visits every pair (index into data_col, index into feature) that im2col maps to each other.
template <class Visit>
void ForEachPair(const Arguments& a, Visit visit) {
  const int64_t C = a.Symbol("C"), H = a.Symbol("H"), W = a.Symbol("W"), M = a.Symbol("M");
  const int64_t kh = a.Int("kernel_h"), kw = a.Int("kernel_w");
  const int64_t pad_h = a.Int("pad_h"), pad_w = a.Int("pad_w");
  const int32_t* mask_h = a.In<int32_t>("mask_h_idx");
  const int32_t* mask_w = a.In<int32_t>("mask_w_idx");
  if (M == 0) return;  // the loops over a large kernel would take long
  for (int64_t c = 0; c < C; ++c)
    for (int64_t i = 0; i < kh; ++i)
      for (int64_t j = 0; j < kw; ++j)
        for (int64_t m = 0; m < M; ++m) {
          const int64_t h = mask_h[m] - pad_h + i, w = mask_w[m] - pad_w + j;
          if (h < 0 || h >= H || w < 0 || w >= W) continue;
          visit(((c * kh + i) * kw + j) * M + m, (c * H + h) * W + w);
        }
}

// The same for col2im: (index into col, index into im).
template <class Visit>
void ForEachCol2imPair(const Arguments& a, Visit visit) {
  const int64_t C = a.Symbol("C"), H = a.Symbol("H"), W = a.Symbol("W"), M = a.Symbol("M");
  const int32_t* mask_h = a.In<int32_t>("mask_h_idx");
  const int32_t* mask_w = a.In<int32_t>("mask_w_idx");
  for (int64_t c = 0; c < C; ++c)
    for (int64_t m = 0; m < M; ++m) {
      const int64_t h = mask_h[m], w = mask_w[m];
      if (h < 0 || h >= H || w < 0 || w >= W) continue;
      visit(c * M + m, (c * H + h) * W + w);
    }
}

void ForwardReference(const Arguments& a) {
  std::memset(a.Out<void>("data_col"), 0, a.Tensor("data_col").ByteCount());
  ForEachPair(a, [&](int64_t col, int64_t pixel) {
    CopyElement(a.In<void>("feature"), pixel, a.Out<void>("data_col"), col, a.Type());
  });
}

template <typename Sum>
void BackwardReference(const Arguments& a) {
  OutputSums<Sum, double> all(a, "grad_feature");
  Sum* sums = all.data();
  ForEachPair(a, [&](int64_t col, int64_t pixel) {
    sums[pixel] += LoadValue(a.In<void>("grad_col"), a.Type(), col);
  });
}

void Col2imReference(const Arguments& a) {
  std::memset(a.Out<void>("im"), 0, a.Tensor("im").ByteCount());
  ForEachCol2imPair(a, [&](int64_t col, int64_t pixel) {
    CopyElement(a.In<void>("col"), col, a.Out<void>("im"), pixel, a.Type());
  });
}

// Returns the last mask at each pixel, or -1.
std::vector<int64_t> LastMasks(const Arguments& a) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W");
  std::vector<int64_t> last(static_cast<size_t>(H * W), -1);
  for (int64_t m = 0; m < a.Symbol("M"); ++m) {
    const int64_t h = a.In<int32_t>("mask_h_idx")[m], w = a.In<int32_t>("mask_w_idx")[m];
    if (h >= 0 && h < H && w >= 0 && w < W) last[static_cast<size_t>(h * W + w)] = m;
  }
  return last;
}

// Visits the pairs (index into grad_col, index into grad_im) that have a gradient.
template <class Visit>
void ForEachKeptPair(const Arguments& a, Visit visit) {
  const std::vector<int64_t> last = LastMasks(a);
  const int64_t plane = a.Symbol("H") * a.Symbol("W"), M = a.Symbol("M");
  ForEachCol2imPair(a, [&](int64_t col, int64_t pixel) {
    if (last[static_cast<size_t>(pixel % plane)] == col % M) visit(col, pixel);
  });
}

void Col2imBackwardReference(const Arguments& a) {
  std::memset(a.Out<void>("grad_col"), 0, a.Tensor("grad_col").ByteCount());
  ForEachKeptPair(a, [&](int64_t col, int64_t pixel) {
    CopyElement(a.In<void>("grad_im"), pixel, a.Out<void>("grad_col"), col, a.Type());
  });
}

// The plain loops of a copy: zeroes `to`, then copies the pairs that for_each(visit) visits.
template <class ForEach>
void CopyPlain(const Arguments& a, const char* from, const char* to, const ForEach& for_each) {
  const auto copy = [&](auto zero) {
    const auto* source = a.In<decltype(zero)>(from);
    auto* target = a.Out<decltype(zero)>(to);
    std::fill_n(target, a.Tensor(to).desc->ElementCount(), zero);
    for_each([=](int64_t at, int64_t source_at) { target[at] = source[source_at]; });
  };
  switch (a.Type()) {
    case MLUOP_DTYPE_HALF: return copy(Half{});
    case MLUOP_DTYPE_FLOAT: return copy(0.0f);
    default: return copy(0.0);
  }
}

void ForwardPlain(const Arguments& a) {
  CopyPlain(a, "feature", "data_col", [&](auto visit) { ForEachPair(a, visit); });
}

template <typename T, typename Sum>
void BackwardPlain(const Arguments& a) {
  const T* grad_col = a.In<T>("grad_col");
  OutputSums<Sum, T> all(a, "grad_feature");
  Sum* sums = all.data();
  ForEachPair(a, [=](int64_t col, int64_t pixel) { sums[pixel] += ValueOf(grad_col[col]); });
}

void Col2imPlain(const Arguments& a) {
  CopyPlain(a, "col", "im", [&](auto visit) {
    ForEachCol2imPair(a, [=](int64_t col, int64_t pixel) { visit(pixel, col); });
  });
}

void Col2imBackwardPlain(const Arguments& a) {
  CopyPlain(a, "grad_im", "grad_col", [&](auto visit) { ForEachKeptPair(a, visit); });
}

struct Kernel {
  int64_t height = 1, width = 1, pad_h = 0, pad_w = 0;
};

Kernel KernelOf(const Arguments& a) {
  if (a.spec->AttributeIndex("kernel_h") < 0) return {};  // col2im
  return {a.Int("kernel_h"), a.Int("kernel_w"), a.Int("pad_h"), a.Int("pad_w")};
}

Work ForwardWork(const Arguments& a) {
  TouchedLines feature(a, "feature");
  ForEachPair(a, [&](int64_t, int64_t pixel) { feature.Touch(pixel); });
  return {feature.TotalBytes()};
}

// An addition per pair.
Work BackwardWork(const Arguments& a) {
  TouchedLines grad_col(a, "grad_col");
  int64_t pairs = 0;
  ForEachPair(a, [&](int64_t col, int64_t) {
    grad_col.Touch(col);
    ++pairs;
  });
  return {grad_col.TotalBytes(), static_cast<double>(pairs)};
}

Work Col2imWork(const Arguments& a) {
  TouchedLines col(a, "col");
  ForEachCol2imPair(a, [&](int64_t from, int64_t) { col.Touch(from); });
  return {col.TotalBytes()};
}

Work Col2imBackwardWork(const Arguments& a) {
  TouchedLines grad_im(a, "grad_im");
  ForEachKeptPair(a, [&](int64_t, int64_t pixel) { grad_im.Touch(pixel); });
  return {grad_im.TotalBytes()};
}

constexpr std::string_view kMasks[] = {"random", "sorted", "edge", "wild", "duplicate", "row"};
constexpr Option kOptions[] = {{"masks", kMasks}};

// Distinct positions in row-major order, as nonzero() returns them; repeats if there are more masks
// than pixels.
void FillSorted(int64_t H, int64_t W, int64_t M, int32_t* mask_h, int32_t* mask_w, Random& random) {
  const int64_t distinct = std::min(M, H * W);
  int64_t filled = 0;
  for (int64_t pixel = 0; filled < distinct; ++pixel) {
    if (random.Below(H * W - pixel) >= distinct - filled) continue;
    mask_h[filled] = static_cast<int32_t>(pixel / W);
    mask_w[filled++] = static_cast<int32_t>(pixel % W);
  }
  for (int64_t m = distinct; m < M; ++m) {
    mask_h[m] = mask_h[m - distinct];
    mask_w[m] = mask_w[m - distinct];
  }
}

// One coordinate of a mask, for all choices but "sorted".
int32_t Coordinate(const std::string& masks, int64_t size, int64_t kernel, int64_t pad,
                   Random& random) {
  if (masks == "edge") {  // from just before the feature to just behind it
    const int64_t corner = random.Below(size + kernel + 3) - kernel - 1;
    return static_cast<int32_t>(std::clamp<int64_t>(corner + pad, INT32_MIN, INT32_MAX));
  }
  if (masks == "wild") {
    const int64_t special[] = {INT32_MIN, INT32_MAX, -1,  0,
                               size - 1,  size,      pad, static_cast<int32_t>(random.Bits())};
    return static_cast<int32_t>(special[random.Below(std::size(special))]);
  }
  return static_cast<int32_t>(random.Below(size));
}

void Generate(const Case& test_case, const Arguments& a, Random& random) {
  const int64_t H = a.Symbol("H"), W = a.Symbol("W"), M = a.Symbol("M");
  const Kernel kernel = KernelOf(a);
  const std::string& masks = test_case.Option("masks");
  int32_t* mask_h = a.Out<int32_t>("mask_h_idx");
  int32_t* mask_w = a.Out<int32_t>("mask_w_idx");
  if (masks == "sorted") return FillSorted(H, W, M, mask_h, mask_w, random);
  for (int64_t m = 0; m < M; ++m) {
    mask_h[m] = Coordinate(masks, H, kernel.height, kernel.pad_h, random);
    mask_w[m] = Coordinate(masks, W, kernel.width, kernel.pad_w, random);
    if (masks == "row") mask_h[m] = static_cast<int32_t>(H / 2);
    if (masks != "duplicate" || m < 3) continue;
    const int64_t same = random.Below(3);
    mask_h[m] = mask_h[same];
    mask_w[m] = mask_w[same];
  }
}

mluOpStatus_t CallForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpMaskedIm2colForward(
      handle, Desc(a, "feature"), a.In<void>("feature"), Desc(a, "mask_h_idx"),
      a.In<void>("mask_h_idx"), Desc(a, "mask_w_idx"), a.In<void>("mask_w_idx"), a.Int("kernel_h"),
      a.Int("kernel_w"), a.Int("pad_h"), a.Int("pad_w"), a.workspace.data, a.workspace.size,
      Desc(a, "data_col"), a.Out<void>("data_col"));
}

mluOpStatus_t CallForwardWorkspace(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return mluOpGetMaskedIm2colForwardWorkspaceSize(handle, Desc(a, "feature"), Desc(a, "mask_h_idx"),
                                                  Desc(a, "mask_w_idx"), a.Int("kernel_h"),
                                                  a.Int("kernel_w"), Desc(a, "data_col"), size);
}

mluOpStatus_t CallBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpMaskedIm2colBackward(
      handle, Desc(a, "grad_col"), a.In<void>("grad_col"), Desc(a, "mask_h_idx"),
      a.In<void>("mask_h_idx"), Desc(a, "mask_w_idx"), a.In<void>("mask_w_idx"), a.Int("kernel_h"),
      a.Int("kernel_w"), a.Int("pad_h"), a.Int("pad_w"), a.workspace.data, a.workspace.size,
      Desc(a, "grad_feature"), a.Out<void>("grad_feature"));
}

mluOpStatus_t CallCol2im(mluOpHandle_t handle, const Arguments& a) {
  return mluOpMaskedCol2imForward(handle, Desc(a, "col"), a.In<void>("col"), Desc(a, "mask_h_idx"),
                                  a.In<void>("mask_h_idx"), Desc(a, "mask_w_idx"),
                                  a.In<void>("mask_w_idx"), a.workspace.size, a.workspace.data,
                                  Desc(a, "im"), a.Out<void>("im"));
}

mluOpStatus_t CallCol2imWorkspace(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return mluOpGetMaskedCol2imForwardWorkspaceSize(handle, Desc(a, "col"), Desc(a, "mask_h_idx"),
                                                  Desc(a, "mask_w_idx"), Desc(a, "im"), size);
}

mluOpStatus_t CallCol2imBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpMaskedCol2imBackward(handle, Desc(a, "grad_im"), a.In<void>("grad_im"),
                                   Desc(a, "mask_h_idx"), a.In<void>("mask_h_idx"),
                                   Desc(a, "mask_w_idx"), a.In<void>("mask_w_idx"),
                                   Desc(a, "grad_col"), a.Out<void>("grad_col"));
}

constexpr OutputRule kForwardOutputs[] = {{"data_col", Criterion::kExact}};
constexpr OutputRule kBackwardOutputs[] = {{"grad_feature", Criterion::kDynamic}};
constexpr OutputRule kCol2imOutputs[] = {{"im", Criterion::kExact}};
constexpr OutputRule kCol2imBackwardOutputs[] = {{"grad_col", Criterion::kExact}};

constexpr OperatorTest kOperators[] = {
    {.name = "masked_im2col_forward",
     .outputs = kForwardOutputs,
     .options = kOptions,
     .call = CallForward,
     .workspace_size = CallForwardWorkspace,
     .generate = Generate,
     .reference = ForwardReference,
     .plain = ForwardPlain,
     .work = ForwardWork},
    {.name = "masked_im2col_backward",
     .outputs = kBackwardOutputs,
     .options = kOptions,
     .call = CallBackward,
     .workspace_size = nullptr,
     .generate = Generate,
     .reference = ByType<BackwardReference<double>, BackwardReference<long double>>,
     .plain = ByType<BackwardPlain<float, float>, BackwardPlain<Half, float>,
                     BackwardPlain<double, double>>,
     .work = BackwardWork,
     .workspace_without_getter = true},
    {.name = "masked_col2im_forward",
     .outputs = kCol2imOutputs,
     .options = kOptions,
     .call = CallCol2im,
     .workspace_size = CallCol2imWorkspace,
     .generate = Generate,
     .reference = Col2imReference,
     .plain = Col2imPlain,
     .work = Col2imWork},
    {.name = "masked_col2im_backward",
     .outputs = kCol2imBackwardOutputs,
     .options = kOptions,
     .call = CallCol2imBackward,
     .workspace_size = nullptr,
     .generate = Generate,
     .reference = Col2imBackwardReference,
     .plain = Col2imBackwardPlain,
     .work = Col2imBackwardWork},
};

constexpr GetterTest kGetters[] = {{"masked_im2col_forward_workspace", CallForwardWorkspace},
                                   {"masked_col2im_forward_workspace", CallCol2imWorkspace}};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"masked_im2col", kOperators, kGetters};

}  // namespace mluop::masked_im2col
