// SPDX-License-Identifier: Apache-2.0
// masked_conv2d: the worked example of the README, and sums that do not depend on other positions.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mluops/extensions.h"
#include "tests/support/tensors.h"

namespace {

using mluop::testing::Descriptor;
using mluop::testing::Handle;

Descriptor Nchw(const std::vector<int64_t>& dims) {
  return {MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, dims};
}
Descriptor Array(const std::vector<int64_t>& dims) {
  return {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, dims};
}

TEST(MaskedConv2d, WorkedExample) {
  const Handle handle;
  const float features[] = {1, 2, 3, 4, 5, 6}, mask[] = {0, 1, 0, 1, 0, 0};
  const float weight[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, bias = 0.5f;
  float output[6] = {};
  ASSERT_EQ(mluOpMaskedConv2dForward(handle, 3, 3, 1, 1, 1, 1, 1, 1, Nchw({1, 1, 2, 3}), features,
                                     Array({1, 2, 3}), mask, Nchw({1, 1, 3, 3}), weight, Array({1}),
                                     &bias, Nchw({1, 1, 2, 3}), output),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(output, output + 6), (std::vector<float>{0, 21.5f, 0, 12.5f, 0, 0}));
}

// Every masked position alone gives the bits that it has among all.
TEST(MaskedConv2d, SumsDoNotDependOnOtherPositions) {
  constexpr int64_t kChannels = 19, kOutputs = 5, kHeight = 4, kWidth = 7;
  constexpr int64_t kPositions = kHeight * kWidth;
  const auto values = [](int64_t count, float scale) {
    std::vector<float> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(std::sin(scale * static_cast<float>(i)));
    return result;
  };
  const auto features = values(kChannels * kPositions, 0.7f);
  const auto weight = values(kOutputs * kChannels * 9, 1.3f), bias = values(kOutputs, 2.1f);
  const Handle handle;
  const auto run = [&](const std::vector<float>& mask) {
    std::vector<float> output(kOutputs * kPositions);
    EXPECT_EQ(mluOpMaskedConv2dForward(
                  handle, 3, 3, 1, 1, 1, 1, 1, 1, Nchw({1, kChannels, kHeight, kWidth}),
                  features.data(), Array({1, kHeight, kWidth}), mask.data(),
                  Nchw({kOutputs, kChannels, 3, 3}), weight.data(), Array({kOutputs}), bias.data(),
                  Nchw({1, kOutputs, kHeight, kWidth}), output.data()),
              MLUOP_STATUS_SUCCESS);
    return output;
  };
  const auto all = run(std::vector<float>(kPositions, 1));
  for (size_t i = 0; i < kPositions; ++i) {
    std::vector<float> mask(kPositions);
    mask[i] = 1;
    const auto alone = run(mask);
    for (size_t o = 0; o < kOutputs; ++o)
      EXPECT_EQ(alone[o * kPositions + i], all[o * kPositions + i]) << "position " << i;
  }
}

}  // namespace
