// SPDX-License-Identifier: Apache-2.0
// psamask: the worked example of the README, even masks, and backward as the adjoint of forward.
#include <gtest/gtest.h>

#include <vector>

#include "mlu_op.h"
#include "testing/random.h"
#include "tests/support/tensors.h"

namespace {

struct Shape {
  int n, h, w, h_mask, w_mask;
};

class Psamask : public mluop::testing::OperatorFixture {
 protected:
  std::vector<float> Forward(int psa_type, const Shape& s, const std::vector<float>& x) {
    std::vector<float> y(static_cast<size_t>(s.n * s.h * s.w * s.h * s.w), -7.0f);
    const Pair desc(s);
    EXPECT_EQ(mluOpPsamaskForward(handle_, psa_type, desc.mask, x.data(), s.h_mask, s.w_mask,
                                  desc.pixels, y.data()),
              MLUOP_STATUS_SUCCESS);
    return y;
  }

  std::vector<float> Backward(int psa_type, const Shape& s, const std::vector<float>& dy) {
    std::vector<float> dx(static_cast<size_t>(s.n * s.h * s.w * s.h_mask * s.w_mask), -7.0f);
    const Pair desc(s);
    EXPECT_EQ(mluOpPsamaskBackward(handle_, psa_type, desc.pixels, dy.data(), s.h_mask, s.w_mask,
                                   desc.mask, dx.data()),
              MLUOP_STATUS_SUCCESS);
    return dx;
  }

 private:
  struct Pair {
    explicit Pair(const Shape& s)
        : mask(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {s.n, s.h, s.w, s.h_mask * s.w_mask}),
          pixels(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {s.n, s.h, s.w, s.h * s.w}) {}
    mluop::testing::Descriptor mask, pixels;
  };
};

// x[h,w,k] = 100*h + 10*w + k on a 1x2 feature under a 1x3 mask: README.md works it out.
const Shape kWorked = {1, 1, 2, 1, 3};
const std::vector<float> kWorkedInput = {0, 1, 2, 10, 11, 12};

TEST_F(Psamask, CollectForwardWorkedExample) {
  EXPECT_EQ(Forward(MLUOP_PSAMASK_COLLECT, kWorked, kWorkedInput),
            (std::vector<float>{1, 2, 10, 11}));
}

TEST_F(Psamask, DistributeForwardWorkedExample) {
  EXPECT_EQ(Forward(MLUOP_PSAMASK_DISTRIBUTE, kWorked, kWorkedInput),
            (std::vector<float>{1, 10, 2, 11}));
}

TEST_F(Psamask, BackwardWritesZeroOutsideMap) {
  EXPECT_EQ(Backward(MLUOP_PSAMASK_COLLECT, kWorked, {5, 6, 7, 8}),
            (std::vector<float>{0, 5, 6, 7, 8, 0}));
  EXPECT_EQ(Backward(MLUOP_PSAMASK_DISTRIBUTE, kWorked, {5, 6, 7, 8}),
            (std::vector<float>{0, 5, 7, 6, 8, 0}));
}

// An even mask extends one pixel further to the right: half = (2-1)/2 = 0.
TEST_F(Psamask, EvenMaskExtendsRight) {
  EXPECT_EQ(Forward(MLUOP_PSAMASK_COLLECT, {1, 1, 2, 1, 2}, {1, 2, 3, 4}),
            (std::vector<float>{1, 2, 0, 3}));
}

TEST_F(Psamask, BackwardIsAdjointOfForward) {
  const Shape s = {2, 5, 7, 6, 9};
  mluop::testing::Random random(3);
  // Small integers: both inner products are exact, so they must be equal.
  const auto make = [&](int count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(random.Below(17) - 8);
    return values;
  };
  const std::vector<float> x = make(s.n * s.h * s.w * s.h_mask * s.w_mask);
  const std::vector<float> g = make(s.n * s.h * s.w * s.h * s.w);
  for (const int psa_type : {MLUOP_PSAMASK_COLLECT, MLUOP_PSAMASK_DISTRIBUTE}) {
    const std::vector<float> y = Forward(psa_type, s, x);
    const std::vector<float> dx = Backward(psa_type, s, g);
    double forward = 0;
    double backward = 0;
    for (size_t i = 0; i < y.size(); ++i) forward += double{y[i]} * double{g[i]};
    for (size_t i = 0; i < x.size(); ++i) backward += double{x[i]} * double{dx[i]};
    EXPECT_NE(forward, 0);
    EXPECT_EQ(forward, backward);
  }
}

}  // namespace
