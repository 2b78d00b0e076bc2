// SPDX-License-Identifier: Apache-2.0
// psroipool: tests that case lines cannot express.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "ops/psroipool/problem.h"
#include "tests/support/tensors.h"
#include "tests/support/values.h"

namespace {

using mluop::testing::BitsOf;
using mluop::testing::Descriptor;
using mluop::testing::Dot;
using mluop::testing::Floats;
using mluop::testing::Ints;
using mluop::testing::kInf;
using mluop::testing::kNan;
using mluop::testing::RandomFloats;

struct Shape {
  int n, h, w, group, output_dim;
  float scale = 1;

  int channels() const { return group * group * output_dim; }
  size_t map() const { return static_cast<size_t>(n) * h * w * channels(); }
};

// The descriptors of a call with r RoIs.
struct Tensors {
  Tensors(const Shape& s, int r)
      : map(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {s.n, s.h, s.w, s.channels()}),
        rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {r, 5}),
        pooled(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {r, s.group, s.group, s.output_dim}),
        mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {r, s.group, s.group, s.output_dim}) {}
  Descriptor map, rois, pooled, mapping;
};

int CountRois(const Floats& rois) { return static_cast<int>(rois.size() / 5); }

class PsRoiPool : public mluop::testing::OperatorFixture {
 protected:
  struct Pooled {
    Floats output;
    Ints mapping;
  };

  Pooled Forward(const Shape& s, const Floats& input, const Floats& rois,
                 std::vector<char> workspace = {}) {
    const Tensors t(s, CountRois(rois));
    const size_t count = static_cast<size_t>(CountRois(rois)) * s.channels();
    Pooled pooled = {Floats(count, kNan), Ints(count, -7)};
    EXPECT_EQ(
        mluOpPsRoiPoolForward(handle_, s.group, s.group, s.scale, s.group, s.output_dim, t.map,
                              input.data(), t.rois, rois.data(), workspace.data(), workspace.size(),
                              t.pooled, pooled.output.data(), t.mapping, pooled.mapping.data()),
        MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return pooled;
  }

  Floats Backward(const Shape& s, const Floats& top_grad, const Floats& rois, const Ints& mapping) {
    const Tensors t(s, CountRois(rois));
    Floats bottom_grad(s.map(), kNan);
    EXPECT_EQ(mluOpPsRoiPoolBackward(handle_, s.group, s.group, s.scale, s.output_dim, t.pooled,
                                     top_grad.data(), t.rois, rois.data(), t.mapping,
                                     mapping.data(), t.map, bottom_grad.data()),
              MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return bottom_grad;
  }

  size_t WorkspaceSize(const Shape& s, const Floats& rois) {
    const Tensors t(s, CountRois(rois));
    size_t size = 0;
    EXPECT_EQ(mluOpGetPsRoiPoolForwardWorkspaceSize(handle_, s.group, s.group, s.output_dim, t.map,
                                                    t.rois, &size),
              MLUOP_STATUS_SUCCESS);
    return size;
  }
};

// Returns `count` RoIs over and beyond an image of that size.
Floats RandomRois(int count, const Shape& s) {
  const double width = static_cast<double>(s.w) / s.scale;
  const double height = static_cast<double>(s.h) / s.scale;
  mluop::testing::Random random(7);
  Floats rois;
  for (int i = 0; i < count; ++i) {
    const double x = random.Uniform(-0.2, 0.9) * width, y = random.Uniform(-0.2, 0.9) * height;
    for (const double value :
         {static_cast<double>(random.Below(s.n)), x, y, x + random.Uniform(0, 0.8) * width,
          y + random.Uniform(0, 0.8) * height}) {
      rois.push_back(static_cast<float>(value));
    }
  }
  return rois;
}

// One row of 8 pixels that hold 1, 2, ..., 8, pooled to one bin.
const Shape kRow = {1, 1, 8, 1, 1};
const Floats kRowInput = {1, 2, 3, 4, 5, 6, 7, 8};

// The example of README.md: input[h,w,ch] = 100*ch + 10*h + w.
const Shape kWorked = {1, 4, 4, 2, 1};
const Floats kWorkedRoi = {0, 0.5, 0, 2.5, 3};

TEST_F(PsRoiPool, ForwardMatchesReadmeExample) {
  Floats input;
  for (int h = 0; h < 4; ++h) {
    for (int w = 0; w < 4; ++w) {
      for (int ch = 0; ch < 4; ++ch) input.push_back(static_cast<float>(100 * ch + 10 * h + w));
    }
  }
  const Pooled pooled = Forward(kWorked, input, kWorkedRoi);
  EXPECT_EQ(pooled.output, (Floats{6.5, 107.5, 226.5, 327.5}));
  EXPECT_EQ(pooled.mapping, (Ints{0, 1, 2, 3}));
}

TEST_F(PsRoiPool, BackwardMatchesReadmeExample) {
  EXPECT_EQ(Backward(kWorked, {4, 8, 12, 16}, kWorkedRoi, {0, 1, 2, 3}),
            (Floats{0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 0, 0,  //
                    0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 2, 0, 0,  //
                    0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 4, 0, 0, 0, 4,  //
                    0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 4, 0, 0, 0, 4}));
}

TEST_F(PsRoiPool, ForwardReadsChannelsGroupSquaredApart) {
  // ch = (c*G + ph)*G + pw
  const Pooled pooled = Forward({1, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 0, 0, 0, 0});
  EXPECT_EQ(pooled.mapping, (Ints{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(pooled.output, (Floats{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST_F(PsRoiPool, BinColumnsAreRoundedScaledAndClipped) {
  struct Case {
    const char* rule;
    float scale, first, last, mean;
  };
  for (const Case& c :
       {Case{"halves round up above zero: [3, 4)", 1, 2.5, 2.5, 4},
        Case{"halves round up above zero: [1, 3)", 1, 0.5, 1.5, 2.5},
        Case{"halves round down below zero: [-2, 0)", 1, -2, -0.5, 0},
        Case{"rounds to nearest below zero: [-2, 1)", 1, -2, -0.49f, 1},
        Case{"rounds before scaling: [1.5, 3)", 0.5, 3.4f, 4.6f, 2.5},
        Case{"ends at the map's end", 1, 6, 7, 7.5}, Case{"clips at the map's end", 1, 6, 100, 7.5},
        Case{"clips at 0", 1, -100, 1, 1.5},
        Case{"a bin that starts at the map's end is empty", 1, 8, 9, 0},
        Case{"an inverted RoI is 0.1 long: [5, 5.1)", 1, 5, 1, 6}}) {
    Shape s = kRow;
    s.scale = c.scale;
    EXPECT_EQ(Forward(s, kRowInput, {0, c.first, 0, c.last, 0}).output, Floats{c.mean}) << c.rule;
  }
}

// 3*(8/3) - 5 is 3 if the product is rounded, slightly more if not.
// 3*(4.25/6) - 1.125 is 1 if the product is rounded, less if not.
TEST_F(PsRoiPool, CoordinatesUseNoFma) {
  const auto pool = [&](int group, float scale, const Floats& roi, int pw) {
    const Shape s = {1, 1, 8, group, 1, scale};
    Floats input;
    for (int w = 0; w < s.w; ++w)
      input.insert(input.end(), s.channels(), static_cast<float>(w + 1));
    return Forward(s, input, roi).output[pw];
  };
  EXPECT_EQ(pool(3, 0.25f, {0, -20, 0, 11, 0}, 2), 2);    // ws, we = 0, 3; fused 0, 4
  EXPECT_EQ(pool(6, 0.0625f, {0, -18, 0, 49, 0}, 3), 2);  // ws, we = 1, 2; fused 0, 2
}

TEST_F(PsRoiPool, EmptyRoiWritesZerosAndMapping) {
  const Shape s = {2, 3, 3, 2, 1};
  const Floats input(s.map(), 5);
  for (const Floats& roi :
       {Floats{0, kNan, 0, 2, 2}, Floats{0, 0, 0, 2, kInf}, Floats{0, 0, -kInf, 2, 2},
        Floats{kNan, 0, 0, 2, 2}, Floats{2, 0, 0, 2, 2}, Floats{-1, 0, 0, 2, 2},
        Floats{1e30f, 0, 0, 2, 2}, Floats{0, -3e38f, 0, 3e38f, 2}}) {
    const Pooled pooled = Forward(s, input, roi);
    EXPECT_EQ(pooled.output, (Floats{0, 0, 0, 0})) << ::testing::PrintToString(roi);
    EXPECT_EQ(pooled.mapping, (Ints{0, 1, 2, 3}));
    EXPECT_EQ(Backward(s, {1, 1, 1, 1}, roi, pooled.mapping), Floats(s.map(), 0));
  }
}

TEST_F(PsRoiPool, TruncatesBatch) {
  const Shape s = {2, 1, 1, 1, 1};
  const Floats input = {10, 20};
  EXPECT_EQ(Forward(s, input, {0.9f, 0, 0, 0, 0}).output, (Floats{10}));
  EXPECT_EQ(Forward(s, input, {-0.5f, 0, 0, 0, 0}).output, (Floats{10}));
  EXPECT_EQ(Forward(s, input, {1.9f, 0, 0, 0, 0}).output, (Floats{20}));
}

TEST_F(PsRoiPool, MeanOf120000EqualPixelsIsAccurate) {
  const Shape s = {1, 300, 400, 1, 1};
  EXPECT_NEAR(Forward(s, Floats(s.map(), 0.1f), {0, 0, 0, 399, 299}).output[0], 0.1f, 1e-7);
}

TEST_F(PsRoiPool, BackwardIsAdjointOfForward) {
  for (const Shape& s : {Shape{2, 13, 17, 3, 21, 0.25}, Shape{1, 9, 9, 7, 5, 0.5},
                         Shape{3, 6, 6, 1, 8, 1}, Shape{1, 40, 40, 2, 3, 0.3f}}) {
    for (const int count : {1, 40, 600}) {  // scatter; bands; bands of several parts
      const Floats rois = RandomRois(count, s);
      const Floats x = RandomFloats(s.map(), 1);
      const Pooled pooled = Forward(s, x, rois);
      const Floats g = RandomFloats(pooled.output.size(), 2);
      const double forward = Dot(pooled.output, g);
      const double backward = Dot(x, Backward(s, g, rois, pooled.mapping));
      EXPECT_NEAR(forward, backward,
                  1e-6 * std::sqrt(Dot(pooled.output, pooled.output) * Dot(g, g)));
    }
  }
}

// 100 RoIs are pooled from replicas of a small map, and from bands of a large one whose bins have
// several parts; one RoI is read in place.
TEST_F(PsRoiPool, RoiHasSameBitsAloneAndInBatch) {
  for (const Shape& s : {Shape{2, 13, 17, 3, 21, 0.25}, Shape{1, 80, 90, 2, 9, 0.5}}) {
    const Floats rois = RandomRois(100, s);
    Floats input = RandomFloats(s.map(), 1);
    for (size_t i = 0; i < input.size(); i += 1009) input[i] = i % 2 == 0 ? kInf : -kInf;
    const Ints all = BitsOf(Forward(s, input, rois).output);
    for (int r = 0; r < 100; ++r) {
      const auto roi = rois.begin() + 5 * r;
      const Ints alone = BitsOf(Forward(s, input, Floats(roi, roi + 5)).output);
      const auto first = all.begin() + r * s.channels();
      ASSERT_EQ(alone, Ints(first, first + s.channels())) << r;
    }
  }
}

TEST_F(PsRoiPool, NanResultsAreTheDefaultNan) {
  const Shape s = {1, 6, 8, 1, 4};
  constexpr int32_t kDefaultNan = 0x7fc00000;
  Floats input(s.map(), 1);
  input[5] = kInf, input[9] = -kInf, input[6] = -kNan;
  for (const int count : {1, 200}) {
    Floats rois;
    for (int r = 0; r < count; ++r) rois.insert(rois.end(), {0, 0, 0, 7, 5});
    const Pooled pooled = Forward(s, input, rois);
    const Ints bits = BitsOf(pooled.output);
    EXPECT_EQ(bits[1], kDefaultNan) << count;  // Inf - Inf
    EXPECT_EQ(bits[2], kDefaultNan) << count;
    Floats top_grad(pooled.output.size(), 1);
    top_grad[3] = -kNan;
    EXPECT_EQ(BitsOf(Backward(s, top_grad, rois, pooled.mapping))[3], kDefaultNan) << count;
  }
}

// Two images of three are pooled as if each were alone; the values of the third do not matter.
TEST_F(PsRoiPool, UnusedImageDoesNotChangeResults) {
  const Shape one = {1, 45, 40, 4, 20}, three = {3, 45, 40, 4, 20};
  const Floats rois = RandomRois(100, one);
  const Floats first = RandomFloats(one.map(), 3), last = RandomFloats(one.map(), 4);
  Floats input = first;
  input.insert(input.end(), one.map(), kNan);
  input.insert(input.end(), last.begin(), last.end());
  Floats both = rois;
  for (size_t i = 0; i < rois.size(); ++i) both.push_back(i % 5 == 0 ? 2 : rois[i]);
  const Floats together = Forward(three, input, both).output;
  Floats alone = Forward(one, first, rois).output;
  for (const float value : Forward(one, last, rois).output) alone.push_back(value);
  EXPECT_EQ(together, alone);
}

TEST_F(PsRoiPool, WorkspaceDoesNotChangeResults) {
  const Shape s = {1, 31, 40, 3, 81, 0.25};  // several bands
  const Floats rois = RandomRois(60, s);
  const Floats input = RandomFloats(s.map(), 1);
  const Pooled without = Forward(s, input, rois);
  const size_t size = WorkspaceSize(s, rois);
  EXPECT_GT(size, 0u);
  for (const size_t given : {size_t{1}, size - 1, size, 2 * size}) {
    const Pooled with = Forward(s, input, rois, std::vector<char>(given, '\xff'));
    EXPECT_EQ(with.output, without.output) << given;
    EXPECT_EQ(with.mapping, without.mapping) << given;
  }
}

TEST_F(PsRoiPool, BackwardFollowsCustomMapping) {
  const auto backward = [&](const Ints& mapping) {
    return Backward({1, 1, 1, 2, 1}, {1, 2, 3, 4}, {0, 0, 0, 0, 0}, mapping);
  };
  EXPECT_EQ(backward({3, 2, 1, 0}), (Floats{4, 3, 2, 1}));
  EXPECT_EQ(backward({2, 2, 2, 2}), (Floats{0, 0, 10, 0})) << "elements of one channel are added";
  EXPECT_EQ(backward({-1, 4, INT32_MIN, 3}), (Floats{0, 0, 0, 4})) << "out of range is skipped";
}

TEST_F(PsRoiPool, BackwardSumOf100000EqualGradientsIsAccurate) {
  const Shape s = {1, 2, 2, 1, 1};
  Floats rois;
  for (int r = 0; r < 100000; ++r) rois.insert(rois.end(), {0, 0, 0, 1, 1});
  const Floats bottom_grad = Backward(s, Floats(100000, 0.4f), rois, Ints(100000, 0));
  for (const float value : bottom_grad) EXPECT_NEAR(value, 10000, 0.1);
}

// The document's own case (2) has 198 channels for 3*3*21 = 189.
TEST_F(PsRoiPool, WrongChannelCountReturnsBadParam) {
  const Descriptor map(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {2, 14, 14, 198});
  const Tensors t({2, 14, 14, 3, 21}, 493);
  const Floats input(2 * 14 * 14 * 198), rois(493 * 5);
  Floats output(493 * 189, 3);
  Ints mapping(493 * 189, 3);
  EXPECT_EQ(
      mluOpPsRoiPoolForward(handle_, 3, 3, 0.0625, 3, 21, map, input.data(), t.rois, rois.data(),
                            nullptr, 0, t.pooled, output.data(), t.mapping, mapping.data()),
      MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(output[0], 3);
}

TEST(PsRoiPoolGeometry, ClampsExactlyAboveFloatPrecision) {
  using mluop::psroipool::ClampedCeil;
  using mluop::psroipool::ClampedFloor;
  constexpr int kOver = (1 << 24) + 3;   // its float is one more
  constexpr int kUnder = (1 << 24) + 1;  // its float is one less
  EXPECT_EQ(ClampedFloor(0x1p24f + 4, kOver), kOver);
  EXPECT_EQ(ClampedCeil(0x1p24f + 2, kOver), (1 << 24) + 2);
  EXPECT_EQ(ClampedFloor(0x1p24f, kUnder), 1 << 24);
  EXPECT_EQ(ClampedCeil(0x1p24f + 2, kUnder), kUnder);
  EXPECT_EQ(ClampedCeil(kInf, INT32_MAX), INT32_MAX);
  EXPECT_EQ(ClampedFloor(-kInf, INT32_MAX), 0);
}

}  // namespace
