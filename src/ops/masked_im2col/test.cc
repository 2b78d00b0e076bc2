// SPDX-License-Identifier: Apache-2.0
// masked_im2col and masked_col2im: worked examples and properties that case lines cannot express.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "core/dtype.h"
#include "mlu_op.h"
#include "testing/random.h"
#include "tests/support/tensors.h"

namespace {

using mluop::Half;
using mluop::ToFloat;
using mluop::ToHalf;

struct Shape {
  int c, h, w;
  int kernel_h, kernel_w;
  int pad_h, pad_w;

  size_t pixels() const { return size_t{1} * c * h * w; }
  size_t rows() const { return size_t{1} * c * kernel_h * kernel_w; }
};

struct Masks {
  std::vector<int32_t> h, w;

  int count() const { return static_cast<int>(h.size()); }
};

template <typename T>
constexpr mluOpDataType_t kType = sizeof(T) == 4 ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

// The descriptors of a call; data is [rows, M].
template <typename T>
struct Descs {
  Descs(const Shape& s, size_t rows, const Masks& masks)
      : feature(MLUOP_LAYOUT_NCHW, kType<T>, {1, s.c, s.h, s.w}),
        mask(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {masks.count()}),
        data(MLUOP_LAYOUT_ARRAY, kType<T>, {static_cast<int64_t>(rows), masks.count()}) {}
  mluop::testing::Descriptor feature, mask, data;
};

class MaskedIm2col : public mluop::testing::OperatorFixture {
 protected:
  size_t ForwardWorkspaceSize(const Shape& s, const Masks& masks) {
    const Descs<float> d(s, s.rows(), masks);
    size_t size = 0;
    EXPECT_EQ(mluOpGetMaskedIm2colForwardWorkspaceSize(handle_, d.feature, d.mask, d.mask,
                                                       s.kernel_h, s.kernel_w, d.data, &size),
              MLUOP_STATUS_SUCCESS);
    return size;
  }

  size_t Col2imWorkspaceSize(const Shape& s, const Masks& masks) {
    const Descs<float> d(s, static_cast<size_t>(s.c), masks);
    size_t size = 0;
    EXPECT_EQ(
        mluOpGetMaskedCol2imForwardWorkspaceSize(handle_, d.data, d.mask, d.mask, d.feature, &size),
        MLUOP_STATUS_SUCCESS);
    return size;
  }

  template <typename T>
  std::vector<T> Forward(const Shape& s, const Masks& masks, const std::vector<T>& feature,
                         size_t workspace_size = 0) {
    std::vector<T> data_col(s.rows() * masks.h.size(), T{});
    Poison(data_col);
    std::vector<char> workspace(workspace_size);
    const Descs<T> d(s, s.rows(), masks);
    EXPECT_EQ(
        mluOpMaskedIm2colForward(handle_, d.feature, feature.data(), d.mask, masks.h.data(), d.mask,
                                 masks.w.data(), s.kernel_h, s.kernel_w, s.pad_h, s.pad_w,
                                 workspace.data(), workspace_size, d.data, data_col.data()),
        MLUOP_STATUS_SUCCESS);
    return data_col;
  }

  template <typename T>
  std::vector<T> Backward(const Shape& s, const Masks& masks, const std::vector<T>& grad_col,
                          size_t workspace_size = 0) {
    std::vector<T> grad_feature(s.pixels(), T{});
    Poison(grad_feature);
    std::vector<char> workspace(workspace_size);
    const Descs<T> d(s, s.rows(), masks);
    EXPECT_EQ(
        mluOpMaskedIm2colBackward(handle_, d.data, grad_col.data(), d.mask, masks.h.data(), d.mask,
                                  masks.w.data(), s.kernel_h, s.kernel_w, s.pad_h, s.pad_w,
                                  workspace.data(), workspace_size, d.feature, grad_feature.data()),
        MLUOP_STATUS_SUCCESS);
    return grad_feature;
  }

  template <typename T>
  std::vector<T> Col2im(const Shape& s, const Masks& masks, const std::vector<T>& col,
                        size_t workspace_size = 0) {
    std::vector<T> im(s.pixels(), T{});
    Poison(im);
    std::vector<char> workspace(workspace_size);
    const Descs<T> d(s, static_cast<size_t>(s.c), masks);
    EXPECT_EQ(mluOpMaskedCol2imForward(handle_, d.data, col.data(), d.mask, masks.h.data(), d.mask,
                                       masks.w.data(), workspace_size, workspace.data(), d.feature,
                                       im.data()),
              MLUOP_STATUS_SUCCESS);
    return im;
  }

 private:
  template <typename T>
  static void Poison(std::vector<T>& values) {
    std::memset(static_cast<void*>(values.data()), 0xff, values.size() * sizeof(T));
  }
};

// Small integers: sums and products of them are exact, in any order.
std::vector<float> SmallIntegers(size_t count, mluop::testing::Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Below(17) - 8);
  return values;
}

Masks RandomMasks(const Shape& s, int count, mluop::testing::Random& random) {
  Masks masks;
  for (int m = 0; m < count; ++m) {
    masks.h.push_back(static_cast<int32_t>(random.Below(s.h + 2) - 1));
    masks.w.push_back(static_cast<int32_t>(random.Below(s.w + 2) - 1));
  }
  return masks;
}

// README.md works this example out: a 2x3 feature, a 2x2 kernel, two masks.
const Shape kWorked = {1, 2, 3, 2, 2, 1, 0};
const Masks kWorkedMasks = {{1, 0}, {1, 2}};

TEST_F(MaskedIm2col, ForwardReadmeExample) {
  EXPECT_EQ(Forward<float>(kWorked, kWorkedMasks, {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{2, 0, 3, 0, 5, 3, 6, 0}));
}

TEST_F(MaskedIm2col, BackwardReadmeExampleAddsOverlappingMasks) {
  EXPECT_EQ(Backward<float>(kWorked, kWorkedMasks, {1, 2, 3, 4, 5, 6, 7, 8}),
            (std::vector<float>{0, 1, 9, 0, 5, 7}));
}

TEST_F(MaskedIm2col, Col2imReadmeExample) {
  EXPECT_EQ(Col2im<float>(kWorked, kWorkedMasks, {7, 8}), (std::vector<float>{0, 0, 8, 0, 7, 0}));
}

TEST_F(MaskedIm2col, Col2imKeepsLastOfDuplicates) {
  const Shape s = {2, 1, 2, 1, 1, 0, 0};
  EXPECT_EQ(Col2im<float>(s, {{0, 0, 0}, {1, 0, 1}}, {1, 2, 3, 4, 5, 6}),
            (std::vector<float>{2, 3, 5, 6}));
}

TEST_F(MaskedIm2col, Col2imSkipsOutsideIndices) {
  const Shape s = {1, 2, 2, 1, 1, 0, 0};
  // Row 0, column 2 and row 1, column -1 have offsets 2 and 1 in the plane, but are outside.
  const Masks masks = {{0, 1, -1, 2, INT32_MAX, 1}, {2, -1, 0, 0, INT32_MIN, 1}};
  EXPECT_EQ(Col2im<float>(s, masks, {1, 2, 3, 4, 5, 6}), (std::vector<float>{0, 0, 0, 6}));
}

TEST_F(MaskedIm2col, ForwardFarOutsideIndicesGiveZero) {
  const Shape s = {1, 2, 2, 1, 1, 1, -1};
  const Masks masks = {{INT32_MIN, INT32_MAX, 1}, {0, INT32_MAX, 0}};
  EXPECT_EQ(Forward<float>(s, masks, {1, 2, 3, 4}), (std::vector<float>{0, 0, 2}));
}

TEST_F(MaskedIm2col, BackwardWithoutMasksWritesZeros) {
  const Shape s = {2, 2, 2, 3, 3, 1, 1};
  EXPECT_EQ(Backward<float>(s, {}, {}), std::vector<float>(8, 0.0f));
}

// Half an ulp of 1 in half is 2^-11: added one by one in half, such terms are lost.
TEST_F(MaskedIm2col, BackwardHalfRoundsOnce) {
  for (const int channels : {1, 8}) {
    const Shape s = {channels, 1, 1, 1, 1, 0, 0};
    const int terms = 65;
    const Masks masks = {std::vector<int32_t>(terms, 0), std::vector<int32_t>(terms, 0)};
    std::vector<Half> grad_col(static_cast<size_t>(channels * terms), ToHalf(0x1p-11f));
    for (int c = 0; c < channels; ++c) grad_col[static_cast<size_t>(c) * terms] = ToHalf(1.0f);
    for (const Half sum : Backward<Half>(s, masks, grad_col)) {
      EXPECT_EQ(ToFloat(sum), 1.0f + 64 * 0x1p-11f);
    }
  }
}

// Adds two NaN payloads, and Inf to -Inf: every NaN is stored as the default quiet NaN.
TEST_F(MaskedIm2col, BackwardStoresDefaultQuietNan) {
  for (const int channels : {1, 8}) {
    const Shape s = {channels, 1, 3, 1, 1, 0, 0};
    const Masks masks = {{0, 0, 0, 0, 0}, {0, 0, 1, 1, 2}};
    const uint32_t terms[] = {0xffc00001u, 0x7fa00002u, 0x7f800000u, 0xff800000u, 0x3f800000u};
    const uint16_t half_terms[] = {0xfe01, 0x7d02, 0x7c00, 0xfc00, 0x3c00};
    std::vector<float> grad_col;
    std::vector<Half> half_grad_col;
    for (int c = 0; c < channels; ++c) {
      for (const uint32_t bits : terms) grad_col.push_back(std::bit_cast<float>(bits));
      for (const uint16_t bits : half_terms) half_grad_col.push_back({bits});
    }
    const std::vector<float> sums = Backward<float>(s, masks, grad_col);
    const std::vector<Half> half_sums = Backward<Half>(s, masks, half_grad_col);
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(std::bit_cast<uint32_t>(sums[i]), i % 3 == 2 ? 0x3f800000u : 0x7fc00000u);
      EXPECT_EQ(half_sums[i].bits, i % 3 == 2 ? 0x3c00 : 0x7e00);
    }
  }
}

TEST_F(MaskedIm2col, BackwardIsAdjointOfForward) {
  mluop::testing::Random random(3);
  for (const Shape& s : {Shape{19, 6, 7, 3, 5, 1, 2}, Shape{3, 6, 7, 2, 2, 0, 1}}) {
    const Masks masks = RandomMasks(s, 37, random);
    const std::vector<float> x = SmallIntegers(s.pixels(), random);
    const std::vector<float> g = SmallIntegers(s.rows() * masks.h.size(), random);
    const std::vector<float> y = Forward<float>(s, masks, x);
    const std::vector<float> dx = Backward<float>(s, masks, g);
    double forward = 0;
    double backward = 0;
    for (size_t i = 0; i < y.size(); ++i) forward += double{y[i]} * double{g[i]};
    for (size_t i = 0; i < x.size(); ++i) backward += double{x[i]} * double{dx[i]};
    EXPECT_NE(forward, 0);
    EXPECT_EQ(forward, backward);
  }
}

TEST_F(MaskedIm2col, WorkspaceDoesNotChangeResults) {
  mluop::testing::Random random(4);
  const Shape s = {9, 6, 7, 3, 3, 1, 1};
  const Masks masks = RandomMasks(s, 37, random);
  const std::vector<float> x = SmallIntegers(s.pixels(), random);
  const std::vector<float> g = SmallIntegers(s.rows() * masks.h.size(), random);
  const std::vector<float> col = SmallIntegers(static_cast<size_t>(s.c) * masks.h.size(), random);
  const size_t forward = ForwardWorkspaceSize(s, masks);
  const size_t col2im = Col2imWorkspaceSize(s, masks);
  EXPECT_GT(forward, 0u);
  EXPECT_GT(col2im, 0u);
  for (const size_t less : {size_t{0}, size_t{1}, forward - 1}) {
    EXPECT_EQ(Forward<float>(s, masks, x, forward - less), Forward<float>(s, masks, x));
  }
  for (const size_t less : {size_t{0}, size_t{1}, col2im - 1}) {
    EXPECT_EQ(Col2im<float>(s, masks, col, col2im - less), Col2im<float>(s, masks, col));
  }
  for (const size_t size : {size_t{1}, size_t{1} << 20}) {
    EXPECT_EQ(Backward<float>(s, masks, g, size), Backward<float>(s, masks, g));
  }
}

}  // namespace
