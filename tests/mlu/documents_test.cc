// SPDX-License-Identifier: Apache-2.0
// Tests the workspace size of the design documents' kernels on the simulated MLU.
#include <gtest/gtest.h>

#include <cstddef>

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

}  // namespace
}  // namespace mluop::testing
