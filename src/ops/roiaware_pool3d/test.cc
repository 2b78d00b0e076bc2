// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: tests of single values that case lines cannot express.
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
using mluop::testing::Array;
using mluop::testing::Tensor;
using Floats = std::vector<float>;
using Indices = std::vector<int32_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kMax = MLUOP_ROIAWARE_POOL_MAX;
constexpr int kAvg = MLUOP_ROIAWARE_POOL_AVG;

// Voxels of a box, slots of a voxel.
struct Grid {
  int x, y, z, slots;
};

struct Pooled {
  Indices indices, argmax;
  Floats features;
  bool operator==(const Pooled&) const = default;
};

template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.bytes() / sizeof(T)};
}
template <typename T>
Tensor Filled(const std::vector<int64_t>& dims, const std::vector<T>& values) {
  constexpr auto kFloating = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;
  Tensor tensor = Array(dims, std::is_same_v<T, int32_t> ? MLUOP_DTYPE_INT32 : kFloating);
  std::copy(values.begin(), values.end(), tensor.as<T>());
  return tensor;
}

struct Options {
  void* workspace = nullptr;
  size_t workspace_size = 0;
  decltype(&mluOpRoiawarePool3dForward) forward = mluOpRoiawarePool3dForward;
  decltype(&mluOpRoiawarePool3dBackward) backward = mluOpRoiawarePool3dBackward;
};

// Makes calls and checks that they succeed.
class RoiawarePool3d : public mluop::testing::OperatorFixture {
 protected:
  Pooled Forward(int method, const Grid& g, const Floats& rois, const Floats& pts,
                 const Floats& features, const Options& options = {}) {
    const int boxes = static_cast<int>(rois.size() / 7), points = static_cast<int>(pts.size() / 3);
    const int channels = static_cast<int>(features.size()) / points;
    const Tensor r = Filled({boxes, 7}, rois), p = Filled({points, 3}, pts);
    const Tensor f = Filled({points, channels}, features);
    const Tensor argmax = Array({boxes, g.x, g.y, g.z, channels}, MLUOP_DTYPE_INT32);
    const Tensor indices = Array({boxes, g.x, g.y, g.z, g.slots}, MLUOP_DTYPE_INT32);
    const Tensor pooled = Array({boxes, g.x, g.y, g.z, channels});
    EXPECT_EQ(
        options.forward(handle_, method, boxes, points, channels, r, r.data(), p, p.data(), f,
                        f.data(), options.workspace, options.workspace_size, g.slots, g.x, g.y, g.z,
                        argmax, argmax.data(), indices, indices.data(), pooled, pooled.data()),
        MLUOP_STATUS_SUCCESS)
        << mluop::testing::LastMessage();
    return {Values<int32_t>(indices), Values<int32_t>(argmax), Values<float>(pooled)};
  }

  template <typename T>
  std::vector<T> Backward(int method, const Grid& g, int points, const Pooled& pooled,
                          const std::vector<T>& grad_out, const Options& options = {}) {
    const int voxels = g.x * g.y * g.z;
    const int boxes = static_cast<int>(pooled.indices.size()) / (voxels * g.slots);
    const int channels = static_cast<int>(grad_out.size()) / (boxes * voxels);
    const Tensor indices = Filled({boxes, g.x, g.y, g.z, g.slots}, pooled.indices);
    const Tensor argmax = Filled({boxes, g.x, g.y, g.z, channels}, pooled.argmax);
    const Tensor grad = Filled({boxes, g.x, g.y, g.z, channels}, grad_out);
    const Tensor grad_in = Filled({points, channels}, std::vector<T>());
    const bool given = !pooled.argmax.empty();
    EXPECT_EQ(options.backward(handle_, method, boxes, g.x, g.y, g.z, channels, g.slots, indices,
                               indices.data(), given ? argmax.desc() : nullptr,
                               given ? argmax.data() : nullptr, grad, grad.data(), grad_in,
                               grad_in.data()),
              MLUOP_STATUS_SUCCESS)
        << mluop::testing::LastMessage();
    return Values<T>(grad_in);
  }

  // The voxel of a single point in a single box, -1 if it is outside.
  int VoxelOf(const Grid& g, const Floats& roi, const Floats& point) {
    const Pooled pooled = Forward(kMax, g, roi, point, {1});
    for (int voxel = 0; voxel < g.x * g.y * g.z; ++voxel) {
      if (pooled.indices[static_cast<size_t>(voxel) * g.slots] == 1) return voxel;
    }
    return -1;
  }

  template <class Getter = decltype(&mluOpGetRoiawarePool3dForwardWorkspaceSize)>
  size_t WorkspaceSize(int64_t boxes, int64_t points, int64_t channels,
                       Getter getter = mluOpGetRoiawarePool3dForwardWorkspaceSize) {
    size_t size = 0;
    EXPECT_EQ(
        getter(handle_, Array({boxes, 7}), Array({points, 3}), Array({points, channels}), &size),
        MLUOP_STATUS_SUCCESS);
    return size;
  }
};
using RoiawarePool3dForward = RoiawarePool3d;
using RoiawarePool3dBackward = RoiawarePool3d;

// The example of README.md: a box of 4 x 2 x 2 around the origin in two voxels along x; the fourth
// point is outside, the third alone in its voxel.
const Grid kExample = {2, 1, 1, 4};
const Floats kExampleRoi = {0, 0, 0, 4, 2, 2, 0};
const Floats kExamplePts = {-1, 0, 1, -0.5f, 0.5f, 0, 1, 0, 2, 0, 1, 1};
const Floats kExampleFeatures = {1, 10, 3, 6, 5, -2, 100, 100};

TEST_F(RoiawarePool3dForward, ReadmeExample) {
  const Pooled pooled = Forward(kMax, kExample, kExampleRoi, kExamplePts, kExampleFeatures);
  EXPECT_EQ(pooled.indices, (Indices{2, 0, 1, 0, 1, 2, 0, 0}));
  EXPECT_EQ(pooled.features, (Floats{3, 10, 5, -2}));
  EXPECT_EQ(pooled.argmax, (Indices{1, 0, 2, 2}));
  const Pooled mean = Forward(kAvg, kExample, kExampleRoi, kExamplePts, kExampleFeatures);
  EXPECT_EQ(mean, (Pooled{pooled.indices, {0, 0, 0, 0}, {2, 8, 5, -2}}));
}

TEST_F(RoiawarePool3dBackward, ReadmeExample) {
  const Pooled pooled = Forward(kMax, kExample, kExampleRoi, kExamplePts, kExampleFeatures);
  const Floats grad_out = {8, 6, 4, 2};
  EXPECT_EQ(Backward(kMax, kExample, 4, pooled, grad_out), (Floats{0, 6, 8, 0, 4, 2, 0, 0}));
  EXPECT_EQ(Backward(kAvg, kExample, 4, pooled, grad_out), (Floats{4, 3, 4, 3, 4, 2, 0, 0}));
}

// In a box that is rotated by 90 degrees, the world's +y is the box's +x.
TEST_F(RoiawarePool3dForward, BoxRotatedBy90DegreesSelectsVoxel) {
  const Grid g = {2, 2, 1, 2};
  const Floats ahead = {1, 0.25f, 0.5f};  // mostly along +x, a little to +y
  const auto voxel = [&](double turn) {
    return VoxelOf(g, {0, 0, 0, 4, 4, 1, static_cast<float>(turn)}, ahead);
  };
  EXPECT_EQ(voxel(0), 3);        // local (1, 0.25)
  EXPECT_EQ(voxel(M_PI_2), 2);   // local (0.25, -1)
  EXPECT_EQ(voxel(M_PI), 0);     // local (-1, -0.25)
  EXPECT_EQ(voxel(-M_PI_2), 1);  // local (-0.25, 1)
}

TEST_F(RoiawarePool3dForward, TopAndBottomAreInsideAndSidesAreNot) {
  const Grid g = {2, 2, 2, 2};
  const Floats roi = {0, 0, -1, 4, 4, 2, 0};
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, -1}), 6);
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, 1}), 7);  // (z-cz)/(dz/out_z) = 2, clamped to the last
  EXPECT_EQ(VoxelOf(g, roi, {1, 1, 1.0001f}), -1);
  EXPECT_EQ(VoxelOf(g, roi, {2, 1, 0}), -1);
  EXPECT_EQ(VoxelOf(g, roi, {1, -2, 0}), -1);
}

TEST_F(RoiawarePool3dForward, PointOnAVoxelBorderIsInTheUpperVoxel) {
  const Floats roi = {0, 0, 0, 4, 4, 2, 0};
  EXPECT_EQ(VoxelOf({2, 1, 1, 2}, roi, {0, 0, 1}), 1);
  EXPECT_EQ(VoxelOf({1, 1, 2, 2}, roi, {0, 0, 1}), 1);
}

TEST_F(RoiawarePool3dForward, FlatBoxStoresPointsInLowestVoxel) {
  EXPECT_EQ(VoxelOf({1, 1, 3, 2}, {0, 0, 1, 4, 4, 0, 0}, {0, 0, 1}), 0);
  EXPECT_EQ(VoxelOf({1, 1, 3, 2}, {0, 0, 1, 4, 4, 0, 0}, {0, 0, 1.5f}), -1);
  EXPECT_EQ(VoxelOf({3, 1, 1, 2}, {0, 0, 1, 0, 4, 1, 0}, {0, 0, 1}), -1);
}

TEST_F(RoiawarePool3dForward, NonFiniteCoordinatesAreOutside) {
  for (const float special : {kNaN, kInf, -kInf}) {
    for (size_t axis = 0; axis < 3; ++axis) {
      Floats point = {0, 0, 0.5f};
      point[axis] = special;
      EXPECT_EQ(VoxelOf({2, 2, 2, 2}, {0, 0, 0, 4, 4, 1, 0}, point), -1);
    }
  }
  EXPECT_EQ(VoxelOf({1, 1, 1, 2}, {0, 0, 0, 4, 4, 1, kInf}, {0, 0, 0.5f}), -1);
}

TEST_F(RoiawarePool3dForward, OverfullVoxelStoresAndPoolsTheFirstPoints) {
  const Floats pts(15, 0.25f);  // five points in one place
  const Pooled pooled = Forward(kMax, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 3, 2, 9, 8});
  EXPECT_EQ(pooled.indices, (Indices{3, 0, 1, 2}));
  EXPECT_EQ(pooled.features, Floats{3});
  EXPECT_EQ(Forward(kAvg, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 3, 2, 9, 8}).features,
            Floats{2});
}

TEST_F(RoiawarePool3dForward, OneSlotStoresNoPoint) {
  EXPECT_EQ(Forward(kMax, {1, 1, 1, 1}, {0, 0, 0, 1, 1, 1, 0}, {0, 0, 0.5f}, {7}),
            (Pooled{{0}, {-1}, {0}}));
}

TEST_F(RoiawarePool3dForward, MaxOfNanAndMinusInfinityIsZeroWithoutPoint) {
  const Floats pts(6, 0.25f), roi = {0, 0, 0, 1, 1, 1, 0};
  // Channels: all NaN, all -inf, NaN first, NaN last.
  const Pooled pooled =
      Forward(kMax, {1, 1, 1, 3}, roi, pts, {kNaN, -kInf, kNaN, -5, -kNaN, -kInf, -7, kNaN});
  EXPECT_EQ(pooled.features, (Floats{0, 0, -7, -5}));
  EXPECT_EQ(pooled.argmax, (Indices{-1, -1, 1, 0}));
}

TEST_F(RoiawarePool3dForward, FirstOfEqualMaximaWins) {
  const Floats pts(9, 0.25f);
  EXPECT_EQ(Forward(kMax, {1, 1, 1, 4}, {0, 0, 0, 1, 1, 1, 0}, pts, {1, 2, 2}).argmax, Indices{1});
}

TEST_F(RoiawarePool3dBackward, CountIsClampedAndIndexOutOfRangeIsSkipped) {
  const Grid g = {1, 1, 1, 4};
  const auto average = [&](Indices slots) {
    return Backward<float>(kAvg, g, 2, {std::move(slots), {}, {}}, {6});
  };
  EXPECT_EQ(average({100, 0, 1, 1}), (Floats{2, 4}));
  EXPECT_EQ(average({-1, 0, 1, 1}), (Floats{0, 0}));
  EXPECT_EQ(average({3, 0, -1, 2}),
            (Floats{2, 0}));  // the divisor stays 3, although one index is skipped
  for (const int32_t wild : {-1, 2, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ((Backward<float>(kMax, g, 2, {{1, 0, 0, 0}, {wild}, {}}, {6})), (Floats{0, 0}));
  }
}

TEST_F(RoiawarePool3dForward, SecondSpellingGivesSameResult) {
  const Options second = {.forward = mluOpRoiAwarePool3dForward,
                          .backward = mluOpRoiAwarePool3dBackward};
  const Pooled pooled = Forward(kMax, kExample, kExampleRoi, kExamplePts, kExampleFeatures);
  EXPECT_EQ(Forward(kMax, kExample, kExampleRoi, kExamplePts, kExampleFeatures, second), pooled);
  const Floats grad = {8, 6, 4, 2};
  EXPECT_EQ(Backward(kMax, kExample, 4, pooled, grad, second),
            Backward(kMax, kExample, 4, pooled, grad));
  EXPECT_EQ(WorkspaceSize(1, 4, 2, mluOpGetRoiAwarePool3dForwardWorkspaceSize),
            WorkspaceSize(1, 4, 2));
}

// 100000 boxes and points are 10^10 pairs: the workspace must not be proportional to them.
TEST_F(RoiawarePool3dForward, WorkspaceSizeOfManyBoxesIsBounded) {
  EXPECT_LT(WorkspaceSize(100000, 100000, 1), size_t{8} << 20);
}

// A random scene: boxes of 4 x 4 x 4 that overlap, over points in the same space.
struct RandomScene {
  explicit RandomScene(uint64_t seed, int boxes, int points, int channels) {
    mluop::testing::Random random(seed);
    const auto uniform = [&](double most) {
      return static_cast<float>(random.Uniform(-most, most));
    };
    for (int b = 0; b < boxes; ++b) {
      const Floats roi = {uniform(1), uniform(1), -2 + uniform(1), 4, 4, 4, uniform(3)};
      rois.insert(rois.end(), roi.begin(), roi.end());
    }
    for (int i = 0; i < 3 * points; ++i) pts.push_back(uniform(2.5));
    for (int i = 0; i < channels * points; ++i) features.push_back(uniform(1));
  }
  Floats rois, pts, features;
};

double Dot(const Floats& a, const Floats& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// With a fixed argmax both methods are linear: <forward(f), g> = <f, backward(g)>.
TEST_F(RoiawarePool3dBackward, IsTheAdjointOfForward) {
  const Grid g = {3, 4, 2, 6};
  const int points = 400, channels = 19;
  const RandomScene scene(5, 7, points, channels);
  for (const int method : {kMax, kAvg}) {
    const Pooled pooled = Forward(method, g, scene.rois, scene.pts, scene.features);
    mluop::testing::Random random(6);
    Floats grad(pooled.features.size());
    for (float& value : grad) value = static_cast<float>(random.Uniform(-1, 1));
    const double forward = Dot(pooled.features, grad);
    const double backward = Dot(scene.features, Backward(method, g, points, pooled, grad));
    EXPECT_GT(std::abs(forward), 0.1);
    EXPECT_NEAR(forward, backward, 1e-5 * Dot(grad, grad));
  }
}

// 2048 + 1 + 1: the half after 2048 is 2050, so that a sum in half would stay at 2048.
TEST_F(RoiawarePool3dBackward, HalfGradientsAreRoundedOnce) {
  const Grid g = {3, 1, 1, 2};
  const std::vector<Half> grad = {mluop::ToHalf(2048), mluop::ToHalf(1), mluop::ToHalf(1)};
  const Pooled pooled = {{1, 0, 1, 0, 1, 0}, {0, 0, 0}, {}};
  for (const int method : {kMax, kAvg}) {
    EXPECT_EQ(mluop::ToFloat(Backward<Half>(method, g, 1, pooled, grad)[0]), 2050);
  }
}

TEST_F(RoiawarePool3dForward, WorkspaceOfAnySizeAndOffsetGivesSameResult) {
  const Grid g = {3, 3, 3, 8};
  const RandomScene scene(9, 5, 300, 4);
  const Pooled expected = Forward(kMax, g, scene.rois, scene.pts, scene.features);
  const size_t wanted = WorkspaceSize(5, 300, 4);
  ASSERT_GT(wanted, 0u);
  std::vector<char> memory(2 * wanted);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{60}}) {
    for (const size_t size : {size_t{1}, wanted - 1, wanted, wanted + 9}) {
      EXPECT_EQ(Forward(kMax, g, scene.rois, scene.pts, scene.features,
                        {.workspace = memory.data() + offset, .workspace_size = size}),
                expected);
    }
  }
}

// The bits of a NaN do not depend on its source, the order of operands or the instruction set.
TEST_F(RoiawarePool3d, NanOfASumIsStoredAsTheDefaultQuietNan) {
  const float nan = std::bit_cast<float>(0xffc12345u);  // negative, with a payload
  const Floats pts(6, 0.25f), roi = {0, 0, 0, 1, 1, 1, 0};
  const Pooled pooled = Forward(kAvg, {1, 1, 1, 3}, roi, pts, {nan, kInf, 1, -kInf});
  const Floats grads =
      Backward(kAvg, {2, 1, 1, 2}, 1, {{1, 0, 1, 0}, {}, {}}, Floats{1, kInf, nan, -kInf});
  for (const Floats& results : {pooled.features, grads}) {
    ASSERT_EQ(results.size(), 2u);
    for (const float value : results) EXPECT_EQ(std::bit_cast<uint32_t>(value), 0x7fc00000u);
  }
}

}  // namespace
