// SPDX-License-Identifier: Apache-2.0
// Tests the workspace sizes and the size limits of the design documents' kernels on the simulated MLU.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mlu_op.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

class Documents : public OperatorFixture {};

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

TEST_F(Documents, PsRoiPoolHasNoUseForAWorkspace) {
  const Descriptor input(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {1, 5, 6, 18});
  const Descriptor rois(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {4, 5});
  size_t bytes = 1;
  EXPECT_EQ(mluOpGetPsRoiPoolForwardWorkspaceSize(handle_, 3, 3, 2, input, rois, &bytes),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0u);
}

// Sizes beyond a limit are refused before any data is touched, so these pointers are never read.
void* PointerAt(uintptr_t address) { return std::bit_cast<void*>(address); }
void* const kData[] = {PointerAt(uintptr_t{1} << 40), PointerAt(uintptr_t{2} << 40),
                       PointerAt(uintptr_t{3} << 40), PointerAt(uintptr_t{4} << 40)};

void ExpectMessage(const std::string& part) {
  const std::string message = mluOpGetLastErrorMessage();
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(Documents, BorderAlignRefusesMoreThan2To30Boxes) {
  const int64_t boxes = (int64_t{1} << 30) + 1;
  const Descriptor input(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {1, 2, 2, 4});
  const Descriptor corners(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_HALF, {1, boxes, 4});
  const Descriptor output(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {1, boxes, 4, 1});
  const Descriptor argmax(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, boxes, 4, 1});
  EXPECT_EQ(mluOpBorderAlignForward(handle_, input, kData[0], corners, kData[1], 1, output,
                                    kData[2], argmax, kData[3]),
            MLUOP_STATUS_NOT_SUPPORTED);
  ExpectMessage("boxes must be at most 1073741824 in all images, got 1073741825");
}

TEST_F(Documents, MaskedIm2colRefusesRowsOf2To31Bytes) {
  const Descriptor feature(MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {1, 1, 1 << 15, 1 << 14});
  const Descriptor masks(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {1});
  const Descriptor columns(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 1});
  EXPECT_EQ(mluOpMaskedIm2colForward(handle_, feature, kData[0], masks, kData[1], masks, kData[2],
                                     1, 1, 0, 0, nullptr, 0, columns, kData[3]),
            MLUOP_STATUS_NOT_SUPPORTED);
  ExpectMessage("must have fewer than 2^31 bytes (the stride of a 2D copy), got 2147483648");
}

}  // namespace
}  // namespace mluop::testing
