// SPDX-License-Identifier: Apache-2.0
// border_align: tests of single values, which case lines cannot express.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/dtype.h"
#include "mlu_op.h"
#include "testing/random.h"
#include "tests/support/tensors.h"

namespace {

using mluop::Half;
using mluop::ToFloat;
using mluop::ToHalf;
using mluop::testing::Random;
using Floats = std::vector<float>;
using Indices = std::vector<int32_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kPayloadNan = std::bit_cast<float>(0xffc12345u);
constexpr uint32_t kCanonicalNan = 0x7fc00000u;

struct Shape {
  int n, h, w, c, k, pool_size;

  size_t map() const { return static_cast<size_t>(n) * h * w * 4 * c; }
  size_t pooled() const { return static_cast<size_t>(n) * k * 4 * c; }
};

struct Pooled {
  Floats output;
  Indices argmax;
};

// The descriptors of a call.
template <typename T>
struct Descs {
  static constexpr auto kType = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;
  mluop::testing::Descriptor map, boxes, pooled, argmax;

  explicit Descs(const Shape& s)
      : map(MLUOP_LAYOUT_NHWC, kType, {s.n, s.h, s.w, 4 * s.c}),
        boxes(MLUOP_LAYOUT_NHWC, kType, {s.n, s.k, 4}),
        pooled(MLUOP_LAYOUT_NHWC, kType, {s.n, s.k, 4, s.c}),
        argmax(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {s.n, s.k, 4, s.c}) {}
};

template <typename To, typename From>
std::vector<To> Convert(const std::vector<From>& from) {
  std::vector<To> to;
  for (const From value : from) {
    if constexpr (sizeof(To) == 2) {
      to.push_back(ToHalf(ToFloat(value)));
    } else {
      to.push_back(ToFloat(value));
    }
  }
  return to;
}

class BorderAlign : public mluop::testing::OperatorFixture {
 protected:
  template <typename T = float>
  Pooled Forward(const Shape& s, const Floats& input, const Floats& boxes) {
    EXPECT_EQ(input.size(), s.map());
    const Descs<T> descs(s);
    const std::vector<T> in = Convert<T>(input), b = Convert<T>(boxes);
    std::vector<T> output(s.pooled());
    Pooled pooled = {{}, Indices(s.pooled(), -7)};
    EXPECT_EQ(
        mluOpBorderAlignForward(handle_, descs.map, in.data(), descs.boxes, b.data(), s.pool_size,
                                descs.pooled, output.data(), descs.argmax, pooled.argmax.data()),
        MLUOP_STATUS_SUCCESS);
    pooled.output = Convert<float>(output);
    return pooled;
  }

  template <typename T = float>
  Floats Backward(const Shape& s, const Floats& gradient, const Floats& boxes,
                  const Indices& argmax) {
    EXPECT_EQ(gradient.size(), s.pooled());
    const Descs<T> descs(s);
    const std::vector<T> g = Convert<T>(gradient), b = Convert<T>(boxes);
    std::vector<T> grad_input(s.map());
    EXPECT_EQ(mluOpBorderAlignBackward(handle_, descs.pooled, g.data(), descs.boxes, b.data(),
                                       descs.argmax, argmax.data(), s.pool_size, descs.map,
                                       grad_input.data()),
              MLUOP_STATUS_SUCCESS);
    return Convert<float>(grad_input);
  }
};
class BorderAlignForward : public BorderAlign {};
class BorderAlignBackward : public BorderAlign {};

// One channel per border, all four with the same map.
Floats FourTimes(const Floats& map) {
  Floats input;
  for (const float value : map) input.insert(input.end(), 4, value);
  return input;
}

Floats RandomValues(size_t count, double low, double high, uint64_t seed) {
  Random random(seed);
  Floats values(count);
  for (float& value : values) value = static_cast<float>(random.Uniform(low, high));
  return values;
}

Floats RandomBoxes(const Shape& s, uint64_t seed) {
  Floats boxes = RandomValues(static_cast<size_t>(s.n) * s.k * 4, 0, 1, seed);
  for (size_t i = 0; i < boxes.size(); ++i) boxes[i] *= static_cast<float>(i % 2 ? s.h : s.w) - 1;
  return boxes;
}

// Document 001 1.2. Its layouts are mmcv's, [N, 4C, H, W] and [N, C, K, 4]; with C = 1 the second
// is the same in memory as ours.
const Shape kDocument = {1, 3, 4, 1, 12, 1};
const Floats kDocumentPlanes = {1,  2,  3, 4, 5,  6,  7,  8,  9,  10, 11, 12,  //
                                6,  7,  5, 8, 2,  1,  3,  4,  12, 9,  11, 10,  //
                                -2, -3, 2, 0, -4, -5, 1,  -1, -1, -1, -1, -1,  //
                                0,  -1, 2, 1, -4, -3, -2, -1, -1, -2, -3, -4};
const Floats kDocumentBoxes = {0, 0, 2, 1, 1, 0, 3, 1, 1, 0, 2, 1, 0, 0, 3, 1,  //
                               0, 0, 1, 2, 0, 0, 2, 2, 1, 0, 2, 1, 1, 0, 3, 1,  //
                               0, 1, 1, 2, 0, 0, 3, 2, 1, 0, 3, 2, 2, 0, 3, 2};
const Floats kDocumentOutput = {3, 6,  1,  2,  4, 7,  -1, 1, 3, 7, 1,  2, 4, 6,  -1, 1,  //
                                2, 12, -1, -1, 3, 12, -1, 2, 3, 7, 1,  2, 4, 7,  -1, 1,  //
                                6, 12, -1, -2, 4, 12, -1, 1, 4, 9, -1, 1, 4, 11, -1, 1};

Floats DocumentInput() {
  Floats input(kDocumentPlanes.size());
  for (size_t i = 0; i < input.size(); ++i) input[i % 12 * 4 + i / 12] = kDocumentPlanes[i];
  return input;
}

TEST_F(BorderAlignForward, DocumentExampleMatchesPrintedOutput) {
  EXPECT_EQ(Forward(kDocument, DocumentInput(), kDocumentBoxes).output, kDocumentOutput);
  EXPECT_EQ(Forward<Half>(kDocument, DocumentInput(), kDocumentBoxes).output, kDocumentOutput);
}

// The worked example of README.md: rows [1 5 2] and [0 3 4], box (0.5, 0, 2, 1).
const Shape kReadmeShape = {1, 2, 3, 1, 1, 2};
const Floats kReadmeBox = {0.5f, 0, 2, 1};

TEST_F(BorderAlignForward, ReadmeExample) {
  const Pooled pooled = Forward(kReadmeShape, FourTimes({1, 5, 2, 0, 3, 4}), kReadmeBox);
  EXPECT_EQ(pooled.output, (Floats{4.25f, 3, 4, 4}));
  EXPECT_EQ(pooled.argmax, (Indices{1, 0, 0, 0}));
}

TEST_F(BorderAlignBackward, ReadmeExample) {
  EXPECT_EQ(Backward(kReadmeShape, {10, 20, 30, 40}, kReadmeBox, {1, 0, 0, 0}),
            (Floats{0, 10, 0, 0, 7.5f, 10, 0, 0, 2.5f, 0, 0,  0,  //
                    0, 0,  0, 0, 0,    0,  0, 0, 0,    0, 30, 40}));
}

TEST_F(BorderAlignForward, TieReturnsFirstSample) {
  // Steps of 1/4 and 1/2: the weights are exact, so all five samples are equal.
  const Shape s = {1, 4, 6, 33, 2, 4};
  const Floats input(s.map(), -3.25f);
  const Pooled pooled = Forward(s, input, {0.5f, 1, 1.5f, 3, 1, 0.25f, 5, 2.25f});
  EXPECT_EQ(pooled.output, Floats(s.pooled(), -3.25f));
  EXPECT_EQ(pooled.argmax, Indices(s.pooled(), 0));
}

TEST_F(BorderAlignForward, NanInFirstSampleStaysAndIsCanonical) {
  const Pooled pooled = Forward({1, 1, 3, 1, 1, 2}, FourTimes({kPayloadNan, 5, 7}), {0, 0, 2, 0});
  EXPECT_EQ(std::bit_cast<uint32_t>(pooled.output[0]), kCanonicalNan);
  EXPECT_EQ(pooled.argmax[0], 0);
}

TEST_F(BorderAlignForward, NanInLaterSampleIsIgnored) {
  const Shape s = {1, 1, 4, 1, 1, 3};
  const Pooled pooled = Forward(s, FourTimes({-4, kNan, -2, -3}), {0, 0, 3, 0});
  // The samples at pixels 0 and 1 include the NaN, also where its bilinear weight is 0.
  EXPECT_EQ(pooled.argmax[2], 1);  // bottom, from the right: -3, -2, NaN, NaN
  EXPECT_EQ(pooled.output[2], -2);
}

TEST_F(BorderAlignBackward, NanIsCanonical) {
  for (const int width : {1, 50}) {  // implementations slices and whole_map
    const Shape s = {1, 1, width, 1, 3, 1};
    const Floats gradient = {kPayloadNan, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
    const Floats grad_input = Backward(s, gradient, Floats(12, 0), Indices(12, 0));
    EXPECT_EQ(std::bit_cast<uint32_t>(grad_input[0]), kCanonicalNan);
  }
}

TEST_F(BorderAlignForward, SampleAtSizeReadsLastPixelAndBeyondIsZero) {
  const Shape s = {1, 2, 3, 1, 1, 1};
  const Floats input = FourTimes({-1, -2, -3, -4, -5, -6});
  const float beyond_w = std::nextafter(3.0f, 4.0f);
  const float beyond_h = std::nextafter(2.0f, 3.0f);
  EXPECT_EQ(Forward(s, input, {3, 2, 3, 2}).output, Floats(4, -6));
  EXPECT_EQ(Forward(s, input, {beyond_w, 2, beyond_w, 2}).output, Floats(4, 0));
  EXPECT_EQ(Forward(s, input, {3, beyond_h, 3, beyond_h}).output, Floats(4, 0));
}

TEST_F(BorderAlignForward, SampleFromMinusOneToZeroReadsFirstPixel) {
  const Shape s = {1, 2, 2, 1, 1, 1};
  const Floats input = FourTimes({-1, -2, -3, -4});
  EXPECT_EQ(Forward(s, input, {-1, -1, -1, -1}).output, Floats(4, -1));
  EXPECT_EQ(Forward(s, input, {-0.5f, -0.25f, -0.5f, -0.25f}).output, Floats(4, -1));
  const float beyond = std::nextafter(-1.0f, -2.0f);
  EXPECT_EQ(Forward(s, input, {beyond, 0, beyond, 0}).output, Floats(4, 0));
}

TEST_F(BorderAlignForward, OutsideSampleCountsAsZero) {
  // Top: x = 0, 2, 4, 6, 8 on a map 5 wide; 6 is the first outside. Bottom starts outside.
  const Shape s = {1, 3, 5, 1, 1, 4};
  const Floats input(s.map(), -1);
  const Pooled pooled = Forward(s, input, {0, 1, 8, 1});
  EXPECT_EQ(pooled.output[0], 0);
  EXPECT_EQ(pooled.argmax[0], 3);
  EXPECT_EQ(pooled.output[2], 0);
  EXPECT_EQ(pooled.argmax[2], 0);
}

TEST_F(BorderAlignForward, NanCoordinateIsOutside) {
  const Shape s = {1, 3, 3, 1, 1, 2};
  const Pooled pooled = Forward(s, Floats(s.map(), -5), {kNan, 0, 2, 2});
  // Bottom starts at x2 and leaves the map with its first step; right does not depend on x1.
  EXPECT_EQ(pooled.output, (Floats{0, 0, 0, -5}));
  EXPECT_EQ(pooled.argmax, (Indices{0, 0, 1, 0}));
}

TEST_F(BorderAlignForward, PositionAdvancesByAdding) {
  // Ten times 0.1f added is 1.0000001f, beyond a map one wide; 10 * 0.1f would be inside.
  const Shape s = {1, 1, 1, 1, 1, 10};
  const Pooled pooled = Forward(s, Floats(s.map(), -1), {0, 0, 1, 0});
  EXPECT_EQ(pooled.output[0], 0);
  EXPECT_EQ(pooled.argmax[0], 10);
}

TEST_F(BorderAlignBackward, PositionAdvancesByAdding) {
  const Shape s = {1, 1, 1, 1, 1, 10};
  EXPECT_EQ(Backward(s, {1, 0, 0, 0}, {0, 0, 1, 0}, {10, 0, 0, 0}), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(Backward(s, {1, 0, 0, 0}, {0, 0, 1, 0}, {9, 0, 0, 0}), (Floats{1, 0, 0, 0}));
}

TEST_F(BorderAlignBackward, ArgmaxOutOfRangeIsSkipped) {
  const Shape s = {1, 2, 2, 1, 1, 3};
  const Floats gradient = {1, 2, 3, 4};
  EXPECT_EQ(Backward(s, gradient, {0, 0, 1, 1}, {-1, 4, INT32_MAX, INT32_MIN}), Floats(16, 0));
}

TEST_F(BorderAlignBackward, SumsOverBoxes) {
  const Shape s = {1, 1, 2, 1, 3, 1};
  const Floats boxes = {0, 0, 1, 0, 0, 0, 1, 0, 0.5f, 0, 1, 0};
  const Floats gradient = {1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0};
  EXPECT_EQ(Backward(s, gradient, boxes, Indices(s.pooled(), 0)),
            (Floats{1 + 2 + 2, 0, 0, 0, 2, 0, 0, 0}));
}

TEST_F(BorderAlignForward, HalfRoundsOnceToNearestEven) {
  // Halfway between two neighbouring halves, below and above an even one.
  const Shape s = {1, 1, 3, 1, 1, 1};
  const float ulp = 0x1p-10f;
  const Floats input = FourTimes({1, 1 + ulp, 1 + 2 * ulp});
  EXPECT_EQ(Forward<Half>(s, input, {0.5f, 0, 0.5f, 0}).output, Floats(4, 1));
  EXPECT_EQ(Forward<Half>(s, input, {1.5f, 0, 1.5f, 0}).output, Floats(4, 1 + 2 * ulp));
}

TEST_F(BorderAlignBackward, HalfRoundsOnce) {
  // 1 + 2^-11 + 2^-11 = 1 + 2^-10; rounded after each addition it would stay 1.
  for (const int width : {1, 50}) {  // implementations slices and whole_map
    const Shape s = {1, 1, width, 1, 3, 1};
    const Floats gradient = {1, 0, 0, 0, 0x1p-11f, 0, 0, 0, 0x1p-11f, 0, 0, 0};
    EXPECT_EQ(Backward<Half>(s, gradient, Floats(12, 0), Indices(12, 0))[0], 1 + 0x1p-10f);
  }
}

TEST_F(BorderAlignForward, ChannelDoesNotDependOnOtherChannels) {
  // 77 channels use groups of four vectors, single vectors and the remainder; 1 uses one lane.
  const Shape wide = {1, 6, 7, 77, 20, 40};
  const Shape narrow = {1, 6, 7, 1, 20, 40};
  const Floats input = RandomValues(wide.map(), -1, 1, 7);
  const Floats boxes = RandomBoxes(wide, 8);
  const Pooled all = Forward(wide, input, boxes);
  for (size_t c = 0; c < 77; ++c) {
    Floats own(narrow.map());
    for (size_t i = 0; i < own.size(); ++i) own[i] = input[i * 77 + c];
    const Pooled one = Forward(narrow, own, boxes);
    for (size_t i = 0; i < one.output.size(); ++i) {
      ASSERT_EQ(one.output[i], all.output[i * 77 + c]);
      ASSERT_EQ(one.argmax[i], all.argmax[i * 77 + c]);
    }
  }
}

TEST_F(BorderAlignBackward, IsAdjointOfForwardAtItsArgmax) {
  const Shape s = {2, 9, 8, 19, 30, 10};
  const Floats input = RandomValues(s.map(), -1, 1, 9);
  const Floats boxes = RandomBoxes(s, 10);
  const Floats gradient = RandomValues(s.pooled(), -1, 1, 11);
  const Pooled pooled = Forward(s, input, boxes);
  const Floats grad_input = Backward(s, gradient, boxes, pooled.argmax);
  double forward = 0, backward = 0;
  for (size_t i = 0; i < s.pooled(); ++i) forward += double{pooled.output[i]} * gradient[i];
  for (size_t i = 0; i < s.map(); ++i) backward += double{input[i]} * grad_input[i];
  EXPECT_NEAR(forward, backward, 1e-4);
}

}  // namespace
