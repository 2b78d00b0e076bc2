// SPDX-License-Identifier: Apache-2.0
// roiaware_pool3d: how test.cc calls it, on vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "mlu_op.h"
#include "mluops/extensions.h"

namespace mluop::roiaware_pool3d {

template <typename T>
inline constexpr mluOpDataType_t kTypeOf = MLUOP_DTYPE_FLOAT;
template <>
inline constexpr mluOpDataType_t kTypeOf<Half> = MLUOP_DTYPE_HALF;
template <>
inline constexpr mluOpDataType_t kTypeOf<int32_t> = MLUOP_DTYPE_INT32;

template <typename T>
struct Tensor {
  Tensor(std::initializer_list<int> dims, std::vector<T> values) : data(std::move(values)) {
    mluOpCreateTensorDescriptor(&desc);
    mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, kTypeOf<T>, static_cast<int>(dims.size()),
                             std::data(dims));
    data.resize(mluOpGetTensorElementNum(desc));
  }
  ~Tensor() { mluOpDestroyTensorDescriptor(desc); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  mluOpTensorDescriptor_t desc = nullptr;
  std::vector<T> data;
};

// Voxels of a box, slots of a voxel.
struct Grid {
  int x, y, z, slots;
};

struct Pooled {
  std::vector<int32_t> indices, argmax;
  std::vector<float> features;
  bool operator==(const Pooled&) const = default;
};

enum class Argmax { kGiven, kAbsent };

// Makes calls and checks that they succeed.
class Calls : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(mluOpCreate(&handle_), MLUOP_STATUS_SUCCESS); }
  void TearDown() override { mluOpDestroy(handle_); }

  template <class Function = decltype(&mluOpRoiawarePool3dForward)>
  Pooled Forward(int method, const Grid& g, const std::vector<float>& rois,
                 const std::vector<float>& pts, const std::vector<float>& features,
                 Argmax argmax_is = Argmax::kGiven,
                 Function function = mluOpRoiawarePool3dForward) {
    const int boxes = static_cast<int>(rois.size() / 7), points = static_cast<int>(pts.size() / 3);
    const int channels = static_cast<int>(features.size()) / points;
    const Tensor<float> r({boxes, 7}, rois), p({points, 3}, pts), f({points, channels}, features);
    Tensor<int32_t> argmax({boxes, g.x, g.y, g.z, channels}, {});
    Tensor<int32_t> indices({boxes, g.x, g.y, g.z, g.slots}, {});
    Tensor<float> pooled({boxes, g.x, g.y, g.z, channels}, {});
    const bool given = argmax_is == Argmax::kGiven;
    EXPECT_EQ(function(handle_, method, boxes, points, channels, r.desc, r.data.data(), p.desc,
                       p.data.data(), f.desc, f.data.data(), nullptr, 0, g.slots, g.x, g.y, g.z,
                       given ? argmax.desc : nullptr, given ? argmax.data.data() : nullptr,
                       indices.desc, indices.data.data(), pooled.desc, pooled.data.data()),
              MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return {indices.data, given ? argmax.data : std::vector<int32_t>(), pooled.data};
  }

  // One box of `g`; points and channels tell the shape of the result.
  template <typename T = float, class Function = decltype(&mluOpRoiawarePool3dBackward)>
  std::vector<T> Backward(int method, const Grid& g, int points, const Pooled& pooled,
                          const std::vector<T>& grad_out,
                          Function function = mluOpRoiawarePool3dBackward) {
    const int voxels = g.x * g.y * g.z;
    const int boxes = static_cast<int>(pooled.indices.size()) / (voxels * g.slots);
    const int channels = static_cast<int>(grad_out.size()) / (boxes * voxels);
    const Tensor<int32_t> indices({boxes, g.x, g.y, g.z, g.slots}, pooled.indices);
    const Tensor<int32_t> argmax({boxes, g.x, g.y, g.z, channels}, pooled.argmax);
    const Tensor<T> grad({boxes, g.x, g.y, g.z, channels}, grad_out);
    Tensor<T> grad_in({points, channels}, {});
    const bool given = !pooled.argmax.empty();
    EXPECT_EQ(function(handle_, method, boxes, g.x, g.y, g.z, channels, g.slots, indices.desc,
                       indices.data.data(), given ? argmax.desc : nullptr,
                       given ? argmax.data.data() : nullptr, grad.desc, grad.data.data(),
                       grad_in.desc, grad_in.data.data()),
              MLUOP_STATUS_SUCCESS)
        << mluOpGetLastErrorMessage();
    return grad_in.data;
  }

  // The voxel of a single point in a single box, -1 if it is outside.
  int VoxelOf(const Grid& g, const std::vector<float>& roi, const std::vector<float>& point) {
    const Pooled pooled = Forward(MLUOP_ROIAWARE_POOL_MAX, g, roi, point, {1});
    for (int voxel = 0; voxel < g.x * g.y * g.z; ++voxel) {
      if (pooled.indices[static_cast<size_t>(voxel) * g.slots] == 1) return voxel;
    }
    return -1;
  }

  mluOpHandle_t handle_ = nullptr;
};

}  // namespace mluop::roiaware_pool3d
