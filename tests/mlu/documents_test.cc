// SPDX-License-Identifier: Apache-2.0
// Tests the calls that the documents' kernels refuse on the simulated MLU, and their workspace. The
// program runs once per card.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "mluops/runtime.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

std::string Card() {
  const char* const name = std::getenv("MLUOP_MLU_ARCH");
  return name == nullptr ? "mlu370" : name;
}

// A descriptor with GDRAM that holds zeros.
class DeviceTensor {
 public:
  DeviceTensor(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims)
      : desc(layout, dtype, dims) {
    size_t bytes = 4;
    for (const int64_t dim : dims) bytes *= static_cast<size_t>(dim);
    EXPECT_EQ(cnrtMalloc(&data, bytes), cnrtSuccess);
    EXPECT_EQ(cnrtMemset(data, 0, bytes), cnrtSuccess);
  }
  ~DeviceTensor() { cnrtFree(data); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const Descriptor desc;
  void* data = nullptr;
};

class Documents : public OperatorFixture {
 protected:
  static void ExpectMessage(const std::string& part) {
    EXPECT_NE(std::string(mluOpGetLastErrorMessage()).find(part), std::string::npos)
        << mluOpGetLastErrorMessage();
  }

  mluOpStatus_t Pool(int group) {
    const DeviceTensor input(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, group * group});
    const DeviceTensor rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 5});
    const DeviceTensor output(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, group, group, 1});
    const DeviceTensor mapping(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, group, group, 1});
    return mluOpPsRoiPoolForward(handle_, group, group, 1.0f, group, 1, input.desc, input.data,
                                 rois.desc, rois.data, nullptr, 0, output.desc, output.data,
                                 mapping.desc, mapping.data);
  }

  mluOpStatus_t Scatter(int pool_method, int max_pts) {
    const DeviceTensor indices(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {1, 1, 1, 1, max_pts});
    const DeviceTensor argmax(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {1, 1, 1, 1, 2});
    const DeviceTensor grad_out(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1, 2});
    const DeviceTensor grad_in(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {3, 2});
    return mluOpRoiawarePool3dBackward(handle_, pool_method, 1, 1, 1, 1, 2, max_pts, indices.desc,
                                       indices.data, argmax.desc, argmax.data, grad_out.desc,
                                       grad_out.data, grad_in.desc, grad_in.data);
  }

  mluOpStatus_t Mask(int h_mask) {
    const DeviceTensor x(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, int64_t{h_mask} * 100});
    const DeviceTensor y(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 1, 1, 1});
    return mluOpPsamaskForward(handle_, 0, x.desc, x.data, h_mask, 100, y.desc, y.data);
  }
};

TEST_F(Documents, PsRoiPoolRefusesGroupsBeyondNram) {
  const int largest = Card() == "mlu290" ? 26 : Card() == "mlu370" ? 34 : 39;
  EXPECT_EQ(Pool(largest), MLUOP_STATUS_SUCCESS) << mluOpGetLastErrorMessage();
  EXPECT_EQ(Pool(largest + 1), MLUOP_STATUS_NOT_SUPPORTED);
  ExpectMessage("group_size must be at most " + std::to_string(largest));
}

TEST_F(Documents, RoiawareAverageRefusesMoreThan2048Points) {
  if (Card() == "mlu290") GTEST_SKIP() << "no atomics";
  EXPECT_EQ(Scatter(1, 2048), MLUOP_STATUS_SUCCESS) << mluOpGetLastErrorMessage();
  EXPECT_EQ(Scatter(1, 2049), MLUOP_STATUS_NOT_SUPPORTED);
  ExpectMessage("max_pts_each_voxel must be at most 2048");
  EXPECT_EQ(Scatter(0, 2049), MLUOP_STATUS_SUCCESS) << "max does not load the indices";
}

TEST_F(Documents, RoiawareNeedsAtomics) {
  const bool has_atomics = Card() != "mlu290";
  EXPECT_EQ(Scatter(0, 4), has_atomics ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_ARCH_MISMATCH);
  if (!has_atomics) ExpectMessage("__bang_atomic_reduce_add");
}

TEST_F(Documents, PsamaskRefusesMasksBeyondNram) {
  // A pixel has h_mask*100 floats and one feature cell, both padded to 32 floats.
  const int nram = Card() == "mlu370" ? 655360 : 393216;
  const int largest = (nram / 4 - 32) / 100;
  EXPECT_EQ(Mask(largest), MLUOP_STATUS_SUCCESS) << mluOpGetLastErrorMessage();
  EXPECT_EQ(Mask(largest + 1), MLUOP_STATUS_NOT_SUPPORTED);
  ExpectMessage("must fit the " + std::to_string(nram) + " bytes of NRAM of " + Card());
}

TEST_F(Documents, MaskedIm2colWorkspaceHoldsFeatureAndColumns) {
  const Descriptor feature(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_HALF, {1, 7, 5, 6});
  const Descriptor masks(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {11});
  const Descriptor columns(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_HALF, {7 * 3 * 2, 11});
  size_t bytes = 0;
  EXPECT_EQ(mluOpGetMaskedIm2colForwardWorkspaceSize(handle_, feature, masks, masks, 3, 2, columns,
                                                     &bytes),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 2u * (7 * 5 * 6 + 7 * 3 * 2 * 11));
}

}  // namespace
}  // namespace mluop::testing
