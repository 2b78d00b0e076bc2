// SPDX-License-Identifier: Apache-2.0
// torchvision_ps_roi_pool: tests that case lines cannot express.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "tests/support/tensors.h"
#include "tests/support/values.h"

namespace {

using mluop::testing::Dot;
using mluop::testing::Floats;
using mluop::testing::kInf;
using mluop::testing::kNan;
using mluop::testing::RandomFloats;

struct Shape {
  int n, o, h, w, ph, pw;
  float scale = 1;

  int channels() const { return o * ph * pw; }
  size_t map() const { return static_cast<size_t>(n) * channels() * h * w; }
};

class Tensor : public mluop::testing::Descriptor {
 public:
  Tensor(const std::vector<int64_t>& dims)  // NOLINT(google-explicit-constructor)
      : Descriptor(dims.size() == 4 ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT,
                   dims) {}
};

class TorchvisionPsRoiPool : public mluop::testing::OperatorFixture {
 protected:
  Floats Forward(const Shape& s, const Floats& input, const Floats& rois) {
    const int r = static_cast<int>(rois.size() / 5);
    const Tensor map({s.n, s.channels(), s.h, s.w}), boxes({r, 5}), pooled({r, s.o, s.ph, s.pw});
    Floats output(static_cast<size_t>(r) * s.channels(), kNan);
    EXPECT_EQ(mluOpTorchvisionPsRoiPoolForward(handle_, s.ph, s.pw, s.scale, map, input.data(),
                                               boxes, rois.data(), pooled, output.data()),
              MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return output;
  }

  Floats Backward(const Shape& s, const Floats& grad_output, const Floats& rois) {
    const int r = static_cast<int>(rois.size() / 5);
    const Tensor map({s.n, s.channels(), s.h, s.w}), boxes({r, 5}), pooled({r, s.o, s.ph, s.pw});
    Floats grad_input(s.map(), kNan);
    EXPECT_EQ(
        mluOpTorchvisionPsRoiPoolBackward(handle_, s.ph, s.pw, s.scale, pooled, grad_output.data(),
                                          boxes, rois.data(), map, grad_input.data()),
        MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return grad_input;
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

Floats Repeat(const Floats& values, int times) {
  Floats all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

// FNV-1a over the bits.
uint64_t Hash(const Floats& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 0xff)) * 0x100000001b3u;
    }
  }
  return hash;
}

// Two rows of 8 pixels, of which bins can hold one row and 7 columns: 1, 2, ..., 7.
const Shape kRow = {1, 1, 2, 8, 1, 1};
const Floats kRowInput = {1, 2, 3, 4, 5, 6, 7, 100, 100, 100, 100, 100, 100, 100, 100, 100};

// The example of README.md: input[ch,h,w] = 100*ch + 10*h + w.
const Shape kWorked = {1, 1, 4, 5, 2, 2};
const Floats kWorkedRoi = {0, 0.5, 0, 3.4f, 3};

TEST_F(TorchvisionPsRoiPool, ForwardMatchesReadmeExample) {
  Floats input;
  for (int ch = 0; ch < 4; ++ch) {
    for (int h = 0; h < 4; ++h) {
      for (int w = 0; w < 5; ++w) input.push_back(static_cast<float>(100 * ch + 10 * h + w));
    }
  }
  EXPECT_EQ(Forward(kWorked, input, kWorkedRoi), (Floats{6, 107, 216, 317}));
}

TEST_F(TorchvisionPsRoiPool, BackwardMatchesReadmeExample) {
  EXPECT_EQ(Backward(kWorked, {2, 4, 6, 8}, kWorkedRoi),
            (Floats{0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                    0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                    0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0,  //
                    0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(TorchvisionPsRoiPool, ForwardReadsChannelsBinsApart) {
  const Shape s = {1, 2, 2, 2, 1, 3};
  Floats input;
  for (int ch = 0; ch < 6; ++ch) {
    input.insert(input.end(), {static_cast<float>(ch + 1), 50, 50, 50});
  }
  EXPECT_EQ(Forward(s, input, {0, 0, 0, 1, 1}), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST_F(TorchvisionPsRoiPool, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 2.5, 0, 4.5, 1}), (Floats{4.5}));    // [3, 5)
  EXPECT_EQ(Forward(kRow, kRowInput, {0, -2.5, 0, 0.5, 1}), (Floats{1}));     // [-3, 1)
  EXPECT_EQ(Forward(kRow, kRowInput, {0, -2, 0, -0.5, 1}), (Floats{0}));      // [-2, -1)
  EXPECT_EQ(Forward(kRow, kRowInput, {0, -1.4f, 0, -0.4f, 1}), (Floats{0}));  // [-1, 0)
}

TEST_F(TorchvisionPsRoiPool, RoundsAfterScaling) {
  Shape half = kRow;
  half.scale = 0.5;
  EXPECT_EQ(Forward(half, kRowInput, {0, 4.9f, 0, 9, 1}), (Floats{4}));  // [2, 5): 2.45 and 4.5
}

TEST_F(TorchvisionPsRoiPool, NoBinHasLastRowOrColumn) {
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 5, 0, 8, 2}), (Floats{6.5}));  // [5, 7), not 8
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 5, 0, 800, 2}), (Floats{6.5}));
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 7, 0, 8, 2}), (Floats{0}));
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 0, 1, 8, 2}), (Floats{0}));
}

// torchvision's own backward has [5, 8) and both rows here: six pixels get a sixth each.
TEST_F(TorchvisionPsRoiPool, BackwardUsesForwardBinsAtEdge) {
  EXPECT_EQ(Backward(kRow, {6}, {0, 5, 0, 8, 2}),
            (Floats{0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(TorchvisionPsRoiPool, InvertedRoiIsOnePixelLong) {
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 5, 0, 1, 0}), (Floats{6}));
}

TEST_F(TorchvisionPsRoiPool, EmptyRoiWritesZeros) {
  const Shape s = {2, 1, 3, 3, 2, 2};
  const Floats input(s.map(), 5);
  for (const Floats& roi :
       {Floats{0, kNan, 0, 2, 2}, Floats{0, 0, 0, 2, kInf}, Floats{0, 0, -kInf, 2, 2},
        Floats{kNan, 0, 0, 2, 2}, Floats{2, 0, 0, 2, 2}, Floats{-1, 0, 0, 2, 2},
        Floats{1e30f, 0, 0, 2, 2}, Floats{kInf, 0, 0, 2, 2}}) {
    EXPECT_EQ(Forward(s, input, roi), (Floats{0, 0, 0, 0})) << ::testing::PrintToString(roi);
    EXPECT_EQ(Backward(s, {1, 1, 1, 1}, roi), Floats(s.map(), 0));
  }
}

TEST_F(TorchvisionPsRoiPool, OverflowingCoordinateWritesZeros) {
  Shape s = kRow;
  s.scale = 1e10f;
  EXPECT_EQ(Forward(s, kRowInput, {0, 0, 0, 3e38f, 2}), (Floats{0}));
}

TEST_F(TorchvisionPsRoiPool, ClampsCoordinatesToInt) {
  EXPECT_EQ(Forward(kRow, kRowInput, {0, -1e30f, 0, 1e30f, 1}), (Floats{4}));
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 3, 0, 1e30f, 1}), (Floats{5.5}));
  EXPECT_EQ(Forward(kRow, kRowInput, {0, 1e30f, 0, 2e30f, 1}), (Floats{0}));
  EXPECT_EQ(Forward(kRow, kRowInput, {0, -2147483648.0f, 0, 2147483648.0f, 1}), (Floats{4}));
}

TEST_F(TorchvisionPsRoiPool, TruncatesBatch) {
  const Shape s = {2, 1, 2, 2, 1, 1};
  const Floats input = {10, 0, 0, 0, 20, 0, 0, 0};
  EXPECT_EQ(Forward(s, input, {0.9f, 0, 0, 1, 1}), (Floats{10}));
  EXPECT_EQ(Forward(s, input, {-0.5f, 0, 0, 1, 1}), (Floats{10}));
  EXPECT_EQ(Forward(s, input, {1.9f, 0, 0, 1, 1}), (Floats{20}));
}

// 1e8 + 1 is 1e8 in float: another order of the sum, or double, has another mean. One RoI is read in
// place, 200 from bands.
TEST_F(TorchvisionPsRoiPool, SumsRowByRow) {
  const Shape s = {1, 4, 3, 4, 1, 1};
  const Floats plane = {1e8f, 1, 1, 0, -1e8f, 1, 1, 0, 0, 0, 0, 0};
  for (const int rois : {1, 200}) {
    const Floats output = Forward(s, Repeat(plane, 4), Repeat({0, 0, 0, 3, 2}, rois));
    for (const float mean : output) ASSERT_EQ(mean, 2.0f / 6.0f) << rois;
  }
}

// Hashes of the results of torchvision 0.14.1 on x86-64.
TEST_F(TorchvisionPsRoiPool, ForwardIsBitwiseEqualToTorchvision) {
  const Shape large = {2, 21, 14, 14, 3, 3, 0.0625};
  EXPECT_EQ(Hash(Forward(large, RandomFloats(large.map(), 1), RandomRois(300, large))),
            0xea4bcbff8a01c098u);
  const Shape odd = {1, 5, 31, 47, 4, 7, 0.3f};
  EXPECT_EQ(Hash(Forward(odd, RandomFloats(odd.map(), 1), RandomRois(3, odd))),
            0xf69ac405c2e14e56u);
}

TEST_F(TorchvisionPsRoiPool, BackwardIsAdjointOfForward) {
  for (const Shape& s : {Shape{2, 21, 13, 17, 3, 3, 0.25}, Shape{1, 5, 9, 9, 7, 5, 0.5},
                         Shape{3, 8, 6, 6, 1, 1, 1}, Shape{1, 3, 40, 40, 2, 1, 0.3f}}) {
    for (const int count : {1, 40, 600}) {  // direct; bands
      const Floats rois = RandomRois(count, s);
      const Floats x = RandomFloats(s.map(), 1);
      const Floats y = Forward(s, x, rois);
      const Floats g = RandomFloats(y.size(), 2);
      EXPECT_NEAR(Dot(y, g), Dot(x, Backward(s, g, rois)), 1e-6 * std::sqrt(Dot(y, y) * Dot(g, g)));
    }
  }
}

TEST_F(TorchvisionPsRoiPool, RoiHasSameBitsAloneAndInBatch) {
  const Shape s = {2, 21, 13, 17, 3, 2, 0.25};
  const Floats rois = RandomRois(100, s);
  const Floats input = RandomFloats(s.map(), 1);
  const Floats all = Forward(s, input, rois);
  for (int r = 0; r < 100; ++r) {
    const Floats one = Forward(s, input, Floats(rois.begin() + 5 * r, rois.begin() + 5 * r + 5));
    for (int i = 0; i < s.channels(); ++i) ASSERT_EQ(one[i], all[r * s.channels() + i]);
  }
}

TEST_F(TorchvisionPsRoiPool, AddsGradientsInOrderOfRois) {
  const Shape s = {1, 4, 2, 2, 1, 1};
  Floats grads;
  for (const float g : {1e8f, 1.0f, -1e8f, 1.0f}) grads.insert(grads.end(), 4, g);
  const Floats rois = Repeat({0, 0, 0, 1, 1}, 4);
  EXPECT_EQ(Backward(s, grads, rois)[0], 1);
  EXPECT_EQ(Backward({1, 1, 2, 2, 1, 1}, {1e8f, 1, -1e8f, 1}, rois)[0], 1);
}

TEST_F(TorchvisionPsRoiPool, NanResultsAreTheDefaultNan) {
  const Shape s = {1, 3, 3, 4, 1, 1};
  uint32_t bits;
  for (const int count : {1, 200}) {  // direct; bands
    const Floats rois = Repeat({0, 0, 0, 3, 2}, count);
    Floats input(s.map(), 1);
    input[0] = kInf, input[1] = -kInf;
    const Floats output = Forward(s, input, rois);
    std::memcpy(&bits, output.data(), sizeof(bits));
    EXPECT_EQ(bits, 0x7fc00000u) << count;
    Floats grad_output(output.size(), 1);
    grad_output[0] = -kNan;
    const Floats grad_input = Backward(s, grad_output, rois);
    std::memcpy(&bits, grad_input.data(), sizeof(bits));
    EXPECT_EQ(bits, 0x7fc00000u) << count;
  }
}

TEST_F(TorchvisionPsRoiPool, EmptyMapWritesZeros) {
  EXPECT_EQ(Forward({0, 2, 3, 3, 1, 2}, {}, {0, 0, 0, 2, 2}), Floats(4, 0));
  EXPECT_EQ(Forward({1, 2, 0, 3, 1, 2}, {}, {0, 0, 0, 2, 2}), Floats(4, 0));
}

TEST_F(TorchvisionPsRoiPool, BackwardWithoutRoisWritesZeros) {
  const Shape s = {1, 2, 3, 3, 1, 2};
  EXPECT_EQ(Backward(s, {}, {}), Floats(s.map(), 0));
  EXPECT_EQ(Forward(s, Floats(s.map()), {}), Floats());
}

TEST_F(TorchvisionPsRoiPool, WrongChannelCountReturnsBadParam) {
  const Tensor map({1, 5, 3, 3}), boxes({1, 5}), pooled({1, 1, 2, 2});
  const Floats input(45), rois(5);
  Floats output(4, 3);
  EXPECT_EQ(mluOpTorchvisionPsRoiPoolForward(handle_, 2, 2, 1, map, input.data(), boxes,
                                             rois.data(), pooled, output.data()),
            MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpGetLastErrorMessage(),
               "torchvision_ps_roi_pool_forward: input.shape[1] must be "
               "O*pooled_height*pooled_width = 4, got 5");
  EXPECT_EQ(output[0], 3);
}

}  // namespace
