// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: what the case lines cannot say.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/dtype.h"
#include "mlu_op.h"
#include "ops/roiaware_pool3d/calls.h"
#include "testing/random.h"

namespace {

using mluop::Half;
using namespace mluop::roiaware_pool3d;  // calls.h

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kMax = MLUOP_ROIAWARE_POOL_MAX;
constexpr int kAvg = MLUOP_ROIAWARE_POOL_AVG;

using RoiawarePool3d = Calls;

// README.md works this out: a box of 4 x 2 x 2 around the origin in two voxels along x; the fourth
// point is outside, the third alone in its voxel.
const Grid kWorked = {2, 1, 1, 4};
const std::vector<float> kWorkedRoi = {0, 0, 0, 4, 2, 2, 0};
const std::vector<float> kWorkedPts = {-1, 0, 1, -0.5f, 0.5f, 0, 1, 0, 2, 0, 1, 1};
const std::vector<float> kWorkedFeatures = {1, 10, 3, 6, 5, -2, 100, 100};

TEST_F(RoiawarePool3d, MaximumOfTheWorkedExample) {
  const Pooled pooled = Forward(kMax, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures);
  EXPECT_EQ(pooled.indices, (std::vector<int32_t>{2, 0, 1, 0, 1, 2, 0, 0}));
  EXPECT_EQ(pooled.features, (std::vector<float>{3, 10, 5, -2}));
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{1, 0, 2, 2}));
}

TEST_F(RoiawarePool3d, AverageOfTheWorkedExample) {
  const Pooled pooled = Forward(kAvg, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures);
  EXPECT_EQ(pooled.features, (std::vector<float>{2, 8, 5, -2}));
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{0, 0, 0, 0}));
}

TEST_F(RoiawarePool3d, BackwardOfTheWorkedExample) {
  const Pooled pooled = Forward(kMax, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures);
  const std::vector<float> grad_out = {8, 6, 4, 2};
  EXPECT_EQ(Backward(kMax, kWorked, 4, pooled, grad_out),
            (std::vector<float>{0, 6, 8, 0, 4, 2, 0, 0}));
  EXPECT_EQ(Backward(kAvg, kWorked, 4, pooled, grad_out),
            (std::vector<float>{4, 3, 4, 3, 4, 2, 0, 0}));
}

// Turned by a quadrant, the world's +y is the box's +x.
TEST_F(RoiawarePool3d, EveryQuadrantPicksItsVoxel) {
  const Grid g = {2, 2, 1, 2};
  const std::vector<float> ahead = {1, 0.25f, 0.5f};  // mostly along +x, a little to +y
  const auto voxel = [&](double turn) {
    return VoxelOf(g, {0, 0, 0, 4, 4, 1, static_cast<float>(turn)}, ahead);
  };
  EXPECT_EQ(voxel(0), 3);        // local (1, 0.25)
  EXPECT_EQ(voxel(M_PI_2), 2);   // local (0.25, -1)
  EXPECT_EQ(voxel(M_PI), 0);     // local (-1, -0.25)
  EXPECT_EQ(voxel(-M_PI_2), 1);  // local (-0.25, 1)
}

TEST_F(RoiawarePool3d, TopAndBottomAreInsideAndSidesAreNot) {
  const Grid g = {2, 2, 2, 2};
  const std::vector<float> roi = {0, 0, -1, 4, 4, 2, 0};
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, -1}), 6);
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, 1}), 7);  // (z-cz)/(dz/out_z) = 2, clamped to the last
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, 1.0001f}), -1);
  EXPECT_EQ(VoxelOf(g, roi, {2, 1, 0}), -1);
  EXPECT_EQ(VoxelOf(g, roi, {1, -2, 0}), -1);
}

TEST_F(RoiawarePool3d, PointOnTheBorderBelongsToTheUpperVoxel) {
  EXPECT_EQ(VoxelOf({2, 1, 1, 2}, {0, 0, 0, 4, 4, 2, 0}, {0, 0, 1}), 1);
  EXPECT_EQ(VoxelOf({1, 1, 2, 2}, {0, 0, 0, 4, 4, 2, 0}, {0, 0, 1}), 1);
}

TEST_F(RoiawarePool3d, FlatBoxHoldsPointsOfItsPlaneInTheLowestVoxel) {
  EXPECT_EQ(VoxelOf({1, 1, 3, 2}, {0, 0, 1, 4, 4, 0, 0}, {0, 0, 1}), 0);
  EXPECT_EQ(VoxelOf({1, 1, 3, 2}, {0, 0, 1, 4, 4, 0, 0}, {0, 0, 1.5f}), -1);
  EXPECT_EQ(VoxelOf({3, 1, 1, 2}, {0, 0, 1, 0, 4, 1, 0}, {0, 0, 1}), -1);
}

TEST_F(RoiawarePool3d, CoordinatesThatAreNotFiniteAreOutside) {
  for (const float odd : {kNaN, kInf, -kInf}) {
    for (size_t axis = 0; axis < 3; ++axis) {
      std::vector<float> point = {0, 0, 0.5f};
      point[axis] = odd;
      EXPECT_EQ(VoxelOf({2, 2, 2, 2}, {0, 0, 0, 4, 4, 1, 0}, point), -1);
    }
  }
  EXPECT_EQ(VoxelOf({1, 1, 1, 2}, {0, 0, 0, 4, 4, 1, kInf}, {0, 0, 0.5f}), -1);
}

TEST_F(RoiawarePool3d, OverfullVoxelKeepsAndPoolsTheFirstPoints) {
  const std::vector<float> pts(15, 0.25f);  // five points in one place
  const Pooled pooled = Forward(kMax, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 3, 2, 9, 8});
  EXPECT_EQ(pooled.indices, (std::vector<int32_t>{3, 0, 1, 2}));
  EXPECT_EQ(pooled.features, std::vector<float>{3});
  EXPECT_EQ(Forward(kAvg, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 3, 2, 9, 8}).features,
            std::vector<float>{2});
}

TEST_F(RoiawarePool3d, OneSlotHoldsNoPoint) {
  const Pooled pooled = Forward(kMax, {1, 1, 1, 1}, {0, 0, 0, 1, 1, 1, 0}, {0, 0, 0.5f}, {7});
  EXPECT_EQ(pooled, (Pooled{{0}, {-1}, {0}}));
}

TEST_F(RoiawarePool3d, MaximumOfNothingGreaterThanMinusInfinityIsZeroAndNoPoint) {
  const std::vector<float> pts(6, 0.25f), roi = {0, 0, 0, 1, 1, 1, 0};
  // Channels: all NaN, all -inf, NaN first, NaN last.
  const Pooled pooled =
      Forward(kMax, {1, 1, 1, 3}, roi, pts, {kNaN, -kInf, kNaN, -5, -kNaN, -kInf, -7, kNaN});
  EXPECT_EQ(pooled.features, (std::vector<float>{0, 0, -7, -5}));
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{-1, -1, 1, 0}));
}

TEST_F(RoiawarePool3d, FirstOfEqualMaximaWins) {
  const std::vector<float> pts(9, 0.25f);
  EXPECT_EQ(Forward(kMax, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 2, 2}).argmax,
            std::vector<int32_t>{1});
}

TEST_F(RoiawarePool3d, BackwardClampsTheCountAndSkipsWildIndices) {
  const Grid g = {1, 1, 1, 4};
  const auto average = [&](std::vector<int32_t> slots) {
    return Backward<float>(kAvg, g, 2, {std::move(slots), {}, {}}, {6});
  };
  EXPECT_EQ(average({100, 0, 1, 1}), (std::vector<float>{2, 4}));
  EXPECT_EQ(average({-1, 0, 1, 1}), (std::vector<float>{0, 0}));
  EXPECT_EQ(average({3, 0, -1, 2}), (std::vector<float>{2, 0}));  // three all the same
  for (const int32_t wild : {-1, 2, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ((Backward<float>(kMax, g, 2, {{1, 0, 0, 0}, {wild}, {}}, {6})),
              (std::vector<float>{0, 0}));
  }
}

TEST_F(RoiawarePool3d, AverageDoesWithoutArgmaxInBothDirections) {
  const Pooled with = Forward(kAvg, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures);
  const Pooled without =
      Forward(kAvg, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures, Argmax::kAbsent);
  EXPECT_EQ(without.indices, with.indices);
  EXPECT_EQ(without.features, with.features);
  EXPECT_EQ(Backward<float>(kAvg, kWorked, 4, without, {8, 6, 4, 2}),
            Backward<float>(kAvg, kWorked, 4, with, {8, 6, 4, 2}));
}

// Absent means both: the descriptor and the pointer. The maximum needs its argmax.
TEST_F(RoiawarePool3d, HalfAnArgmaxIsRefused) {
  const Tensor<float> rois({1, 7}, kWorkedRoi), pts({4, 3}, kWorkedPts);
  const Tensor<float> features({4, 2}, kWorkedFeatures);
  Tensor<int32_t> argmax({1, 2, 1, 1, 2}, {}), indices({1, 2, 1, 1, 4}, {});
  Tensor<float> pooled({1, 2, 1, 1, 2}, {}), grad_in({4, 2}, {});
  const auto forward = [&](int method, mluOpTensorDescriptor_t desc, void* data) {
    return mluOpRoiawarePool3dForward(
        handle_, method, 1, 4, 2, rois.desc, rois.data.data(), pts.desc, pts.data.data(),
        features.desc, features.data.data(), nullptr, 0, 4, 2, 1, 1, desc, data, indices.desc,
        indices.data.data(), pooled.desc, pooled.data.data());
  };
  const auto backward = [&](int method, mluOpTensorDescriptor_t desc, const void* data) {
    return mluOpRoiawarePool3dBackward(handle_, method, 1, 2, 1, 1, 2, 4, indices.desc,
                                       indices.data.data(), desc, data, pooled.desc,
                                       pooled.data.data(), grad_in.desc, grad_in.data.data());
  };
  EXPECT_EQ(forward(kAvg, argmax.desc, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(forward(kAvg, nullptr, argmax.data.data()), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(forward(kMax, nullptr, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(backward(kAvg, argmax.desc, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(backward(kAvg, nullptr, argmax.data.data()), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(backward(kMax, nullptr, nullptr), MLUOP_STATUS_BAD_PARAM);
}

TEST_F(RoiawarePool3d, BothSpellingsAreTheSameFunctions) {
  EXPECT_EQ(Forward(kMax, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures, Argmax::kGiven,
                    mluOpRoiAwarePool3dForward),
            Forward(kMax, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures));
  const Pooled pooled = Forward(kMax, kWorked, kWorkedRoi, kWorkedPts, kWorkedFeatures);
  EXPECT_EQ(Backward<float>(kMax, kWorked, 4, pooled, {8, 6, 4, 2}, mluOpRoiAwarePool3dBackward),
            Backward<float>(kMax, kWorked, 4, pooled, {8, 6, 4, 2}));
  const Tensor<float> rois({1, 7}, {}), pts({4, 3}, {}), features({4, 2}, {});
  size_t one = 0, other = 1;
  EXPECT_EQ(
      mluOpGetRoiawarePool3dForwardWorkspaceSize(handle_, rois.desc, pts.desc, features.desc, &one),
      MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle_, rois.desc, pts.desc, features.desc,
                                                       &other),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(one, other);
}

// A hundred thousand boxes over as many points are 10^10 pairs: the workspace must not grow so.
TEST_F(RoiawarePool3d, WorkspaceOfManyBoxesStaysSmall) {
  const int count = 100000;
  const Tensor<float> rois({count, 7}, {}), pts({count, 3}, {}), features({count, 1}, {});
  size_t size = 0;
  EXPECT_EQ(mluOpGetRoiawarePool3dForwardWorkspaceSize(handle_, rois.desc, pts.desc, features.desc,
                                                       &size),
            MLUOP_STATUS_SUCCESS);
  EXPECT_LT(size, size_t{8} << 20);
}

// A random scene: boxes of 4 x 4 x 4 that overlap, over points in the same space.
struct RandomScene {
  explicit RandomScene(uint64_t seed, int boxes, int points, int channels) {
    mluop::testing::Random random(seed);
    const auto uniform = [&](double most) {
      return static_cast<float>(random.Uniform(-most, most));
    };
    for (int b = 0; b < boxes; ++b) {
      for (const float value :
           {uniform(1), uniform(1), -2 + uniform(1), 4.0f, 4.0f, 4.0f, uniform(3)}) {
        rois.push_back(value);
      }
    }
    for (int i = 0; i < 3 * points; ++i) pts.push_back(uniform(2.5));
    for (int i = 0; i < channels * points; ++i) features.push_back(uniform(1));
  }
  std::vector<float> rois, pts, features;
};

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

TEST_F(RoiawarePool3d, AverageBackwardIsTheAdjointOfForward) {
  const Grid g = {3, 4, 2, 6};
  const int points = 400, channels = 19;
  const RandomScene scene(5, 7, points, channels);
  const Pooled pooled = Forward(kAvg, g, scene.rois, scene.pts, scene.features);
  mluop::testing::Random random(6);
  std::vector<float> grad(pooled.features.size());
  for (float& value : grad) value = static_cast<float>(random.Uniform(-1, 1));
  const double forward = Dot(pooled.features, grad);
  const double backward = Dot(scene.features, Backward<float>(kAvg, g, points, pooled, grad));
  EXPECT_GT(std::abs(forward), 0.1);
  EXPECT_NEAR(forward, backward, 1e-5 * Dot(grad, grad));
}

// Away from ties the maximum is locally linear: a step along d changes <pooled, g> by <d, F^T g>.
TEST_F(RoiawarePool3d, MaximumBackwardAgreesWithFiniteDifferences) {
  const Grid g = {2, 3, 2, 9};
  const int points = 150, channels = 5;
  RandomScene scene(7, 4, points, channels);
  // Features 1/64 apart from each other and steps of 1/256: no step changes which is the greatest,
  // and everything is exact.
  mluop::testing::Random random(8);
  std::vector<float> step(scene.features.size());
  for (size_t i = 0; i < step.size(); ++i) {
    scene.features[i] = static_cast<float>((i * 7919) % step.size()) / 64;
    step[i] = static_cast<float>(random.Below(3) - 1) / 256;
  }
  const Pooled pooled = Forward(kMax, g, scene.rois, scene.pts, scene.features);
  std::vector<float> grad(pooled.features.size());
  for (float& value : grad) value = static_cast<float>(random.Below(9) - 4);
  std::vector<float> moved = scene.features;
  for (size_t i = 0; i < step.size(); ++i) moved[i] += step[i];
  const Pooled after = Forward(kMax, g, scene.rois, scene.pts, moved);
  ASSERT_EQ(after.argmax, pooled.argmax);
  const double predicted = Dot(step, Backward<float>(kMax, g, points, pooled, grad));
  EXPECT_NE(predicted, 0);
  EXPECT_EQ(Dot(after.features, grad) - Dot(pooled.features, grad), predicted);
}

// 2048 + 1 + 1: the half after 2048 is 2050, so that a sum in half would stay at 2048.
TEST_F(RoiawarePool3d, HalfGradientsAreRoundedOnce) {
  const auto half = [](float value) { return mluop::ToHalf(value); };
  const Grid g = {3, 1, 1, 2};
  const std::vector<Half> grad = {half(2048), half(1), half(1)};
  const Pooled pooled = {{1, 0, 1, 0, 1, 0}, {0, 0, 0}, {}};
  for (const int method : {kMax, kAvg}) {
    EXPECT_EQ(mluop::ToFloat(Backward<Half>(method, g, 1, pooled, grad)[0]), 2050);
  }
}

TEST_F(RoiawarePool3d, WorkspaceOfAnySizeAndPlaceGivesTheSameResult) {
  const Grid g = {3, 3, 3, 8};
  const RandomScene scene(9, 5, 300, 4);
  const Pooled expected = Forward(kMax, g, scene.rois, scene.pts, scene.features);
  const Tensor<float> rois({5, 7}, scene.rois), pts({300, 3}, scene.pts);
  const Tensor<float> features({300, 4}, scene.features);
  size_t wanted = 0;
  mluOpGetRoiawarePool3dForwardWorkspaceSize(handle_, rois.desc, pts.desc, features.desc, &wanted);
  ASSERT_GT(wanted, 0u);
  std::vector<char> memory(2 * wanted);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{60}}) {
    for (const size_t size : {size_t{1}, wanted - 1, wanted, wanted + 9}) {
      Tensor<int32_t> argmax({5, 3, 3, 3, 4}, {}), indices({5, 3, 3, 3, 8}, {});
      Tensor<float> pooled({5, 3, 3, 3, 4}, {});
      EXPECT_EQ(mluOpRoiawarePool3dForward(handle_, kMax, 5, 300, 4, rois.desc, rois.data.data(),
                                           pts.desc, pts.data.data(), features.desc,
                                           features.data.data(), memory.data() + offset, size, 8, 3,
                                           3, 3, argmax.desc, argmax.data.data(), indices.desc,
                                           indices.data.data(), pooled.desc, pooled.data.data()),
                MLUOP_STATUS_SUCCESS);
      EXPECT_EQ((Pooled{indices.data, argmax.data, pooled.data}), expected);
    }
  }
}

}  // namespace
